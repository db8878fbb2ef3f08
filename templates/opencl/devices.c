#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
int main(void)
{
    cl_platform_id platforms[16];
    cl_uint n = 0;
    if (clGetPlatformIDs(16, platforms, &n) != CL_SUCCESS)
        return 0;
    for (cl_uint p = 0; p < n && p < 16; p++) {
        cl_device_id devices[16];
        cl_uint m = 0;
        char platform[256] = "", device[256] = "";
        clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &m) != CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < m && d < 16; d++) {
            clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof device - 1, device, NULL);
            printf("%s: %s\n", platform, device);
        }
    }
    return 0;
}
