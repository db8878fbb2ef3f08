// As much of HIP as polygpu's files name, on the processor: the threads of a block are threads of the
// machine, blocks run one after another but for those of a cooperative launch, and memory of the device is the
// host's.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <math.h>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

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

struct uint3 { unsigned x, y, z; };
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

// What the threads of a block have in common: shared memory, and barriers by number and threads.
struct shim_block {
    std::vector<unsigned char> shared;
    std::map<std::pair<int, int>, std::unique_ptr<std::barrier<>>> barriers;
    std::mutex lock;
};

inline thread_local uint3 threadIdx, blockIdx, blockDim, gridDim;
inline thread_local shim_block *block_of_thread;

inline void shim_barrier(int number, int threads)
{
    std::barrier<> *barrier;
    {
        const std::lock_guard<std::mutex> alone(block_of_thread->lock);
        std::unique_ptr<std::barrier<>> &found = block_of_thread->barriers[{number, threads}];
        if (!found)
            found = std::make_unique<std::barrier<>>(threads);
        barrier = found.get();
    }
    barrier->arrive_and_wait();
}

inline void __syncthreads() { shim_barrier(0, blockDim.x * blockDim.y * blockDim.z); }
inline void __threadfence() { std::this_thread::yield(); }
inline unsigned atomicAdd(unsigned *place, unsigned value) { return __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST); }

// Starts the threads of a block.
template <typename Body>
void shim_start(std::vector<std::jthread> &running, shim_block &common, unsigned number, dim3 grid, dim3 block, Body body)
{
    for (unsigned t = 0; t < block.x * block.y * block.z; ++t)
        running.emplace_back([=, &common] {
            threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
            blockIdx = {number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y};
            blockDim = {block.x, block.y, block.z};
            gridDim = {grid.x, grid.y, grid.z};
            block_of_thread = &common;
            body();
        });
}

template <typename Kernel, typename... Arguments>
void hipLaunchKernelGGL(Kernel kernel, dim3 grid, dim3 block, unsigned shared, int, Arguments... arguments)
{
    for (unsigned number = 0; number < grid.x * grid.y * grid.z; ++number) {
        shim_block common{std::vector<unsigned char>(shared)};
        std::vector<std::jthread> running;
        shim_start(running, common, number, grid, block, [=] { kernel(arguments...); });
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

// A chip of three multiprocessors, each of which holds a block of a cooperative launch.
enum { hipDevAttrCooperativeLaunch, hipDevAttrMultiProcessorCount };
enum { hipFuncAttributeMaxDynamicSharedMemorySize };
inline const hipStream_t hipStreamLegacy = nullptr;

inline hipError_t hipDeviceGetAttribute(int *found, int attribute, int)
{
    return *found = attribute == hipDevAttrMultiProcessorCount ? 3 : getenv("SHIM_NOT_COOPERATIVE") == nullptr, hipSuccess;
}

inline hipError_t hipFuncSetAttribute(const void *, int, int) { return hipSuccess; }

inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *found, const void *, int, size_t)
{
    return *found = 1, hipSuccess;
}

template <typename... Parameters, size_t... Numbers>
void shim_call(void (*kernel)(Parameters...), void **arguments, std::index_sequence<Numbers...>)
{
    kernel(*static_cast<Parameters *>(arguments[Numbers])...);
}

template <typename... Parameters>
hipError_t hipLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void **arguments,
                                      size_t shared, hipStream_t)
{
    std::deque<shim_block> blocks(grid.x);
    {
        std::vector<std::jthread> running;
        for (unsigned number = 0; number < grid.x; ++number) {
            blocks[number].shared.resize(shared);
            shim_start(running, blocks[number], number, grid, block, [=] {
                shim_call(kernel, arguments, std::index_sequence_for<Parameters...>());
            });
        }
    }
    if (FILE *log = getenv("SHIM_LAUNCHES") ? fopen(getenv("SHIM_LAUNCHES"), "w") : nullptr) {
        fprintf(log, "%u blocks of %u threads", grid.x, block.x);
        fclose(log);
    }
    return hipSuccess;
}
