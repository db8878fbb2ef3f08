// Whether compute-sanitizer's racecheck reports a race where none is: parts of a block, of 128 threads each, wait apart
// by themselves as often as they have turns, then all threads of the block together.
//
//     nvcc -arch=sm_90 -o parts parts.cu && compute-sanitizer --tool racecheck ./parts 1
//
// With 0 all parts have as many turns, with 1 two have one more. In both each thread reads what another one wrote
// before a barrier of both, and writes what others read before a barrier of all: there is no race.
#include <cstdio>
#include <cstdlib>

static __device__ void wait_in_part(int part, int threads)
{
    asm volatile("bar.sync %0, %1;" : : "r"(part + 1), "r"(threads) : "memory");
}

static __global__ void __launch_bounds__(512) turns(int *sums, int blocks)
{
    __shared__ int words[512];
    const int thread = threadIdx.x, part = thread / 128;
    int sum = 0;
    for (int round = 0; round < 5; ++round) {
        for (int block = part; block < blocks; block += 4) {
            words[thread] = thread + round + block;
            wait_in_part(part, 128);
            sum += words[part * 128 + (thread + 1) % 128];
            wait_in_part(part, 128);
        }
        __syncthreads();
        words[(thread + 128) % 512] = thread - round;
        __syncthreads();
        sum += words[(thread + 200) % 512];
        __syncthreads();
    }
    sums[blockIdx.x * 512 + thread] = sum;
}

static bool failed(cudaError_t status)
{
    if (status != cudaSuccess)
        std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
    return status != cudaSuccess;
}

int main(int argc, char **argv)
{
    int *sums = nullptr;
    if (failed(cudaMalloc(&sums, 4 * 512 * sizeof(int))))
        return 1;
    turns<<<4, 512>>>(sums, argc > 1 && std::atoi(argv[1]) ? 6 : 4);
    return failed(cudaGetLastError()) || failed(cudaDeviceSynchronize()) || failed(cudaFree(sums));
}
