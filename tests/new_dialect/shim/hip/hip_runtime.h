// As much of HIP as polygpu's files name, on the processor: the threads of a block are threads of the
// machine, blocks run one after another, and memory of the device is the host's.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(threads)

using std::max;
using std::min;

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

inline thread_local dim3 threadIdx, blockIdx;
inline std::barrier<> *barrier_of_block;
inline void __syncthreads() { barrier_of_block->arrive_and_wait(); }

template <typename Kernel, typename... Arguments>
void hipLaunchKernelGGL(Kernel kernel, dim3 grid, dim3 block, unsigned, int, Arguments... arguments)
{
    const unsigned threads = block.x * block.y * block.z;
    for (unsigned number = 0; number < grid.x * grid.y * grid.z; ++number) {
        std::barrier<> barrier(threads);
        std::vector<std::jthread> running;
        barrier_of_block = &barrier;
        for (unsigned t = 0; t < threads; ++t)
            running.emplace_back([=] {
                threadIdx = dim3(t % block.x, t / block.x % block.y, t / block.x / block.y);
                blockIdx = dim3(number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y);
                kernel(arguments...);
            });
    }
}

enum hipError_t { hipSuccess, hipErrorUnknown, hipErrorMemoryAllocation };
enum hipMemcpyKind { hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice };
enum hipMemoryType { hipMemoryTypeHost = 1, hipMemoryTypeUnregistered = 0 };
struct hipPointerAttribute_t { hipMemoryType type; };

// What is asked of a stream is done when somebody waits for it, and no sooner.
struct hipStream { std::deque<std::function<void()>> left; long long asked = 0, done = 0; };
struct hipEvent { hipStream *stream = nullptr; long long at = 0; };
using hipStream_t = hipStream *;
using hipEvent_t = hipEvent *;
struct hipDeviceProp_t { char name[256]; };

inline const char *hipGetErrorString(hipError_t) { return "unknown error"; }
inline hipError_t hipGetLastError() { return hipSuccess; }
inline hipError_t hipDeviceSynchronize() { return hipSuccess; }
inline hipError_t hipGetDevice(int *) { return hipSuccess; }
inline hipError_t hipGetDeviceProperties(hipDeviceProp_t *found, int) { return strcpy(found->name, "threads"), hipSuccess; }
inline hipError_t hipEventCreate(hipEvent_t *event) { return *event = new hipEvent, hipSuccess; }
inline hipError_t hipEventDestroy(hipEvent_t event) { return delete event, hipSuccess; }
inline hipError_t hipStreamCreate(hipStream_t *stream) { return *stream = new hipStream, hipSuccess; }
inline hipError_t hipMallocHost(void **memory, size_t bytes) { return *memory = malloc(bytes), hipSuccess; }
inline hipError_t hipPointerGetAttributes(hipPointerAttribute_t *found, const void *) { return found->type = hipMemoryTypeUnregistered, hipSuccess; }

inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr)
{
    event->stream = stream;
    event->at = stream ? stream->asked : 0;
    return hipSuccess;
}

inline hipError_t hipEventSynchronize(hipEvent_t event)
{
    hipStream_t stream = event->stream;
    while (stream && stream->done < event->at) {
        stream->left.front()();
        stream->left.pop_front();
        ++stream->done;
    }
    return hipSuccess;
}

inline hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t event, unsigned) { return hipEventSynchronize(event); }
inline hipError_t hipEventElapsedTime(float *ms, hipEvent_t, hipEvent_t) { return *ms = 1, hipSuccess; }
inline hipError_t hipFree(void *memory) { return free(memory), hipSuccess; }

inline hipError_t hipMalloc(void **memory, size_t bytes)
{
    *memory = aligned_alloc(256, bytes);
    return *memory ? hipSuccess : hipErrorUnknown;
}

inline hipError_t hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t rows, hipMemcpyKind)
{
    for (size_t row = 0; row < rows; ++row)
        memcpy(static_cast<char *>(to) + row * to_pitch, static_cast<const char *>(from) + row * from_pitch, width);
    return hipSuccess;
}

inline hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    return hipMemcpy2D(to, bytes, from, bytes, bytes, 1, kind);
}

inline hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                   size_t rows, hipMemcpyKind kind, hipStream_t stream)
{
    stream->left.push_back([=] { hipMemcpy2D(to, to_pitch, from, from_pitch, width, rows, kind); });
    ++stream->asked;
    return hipSuccess;
}
