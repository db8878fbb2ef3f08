/* The sum of exponentials of Ryoo's MRI-FHD: samples of k-space, added up in each voxel.
 *
 * usage: mri [n [m]]
 */
#include <math.h>

void kernel_mri(int n, int m, float x[restrict n], float y[restrict n], float z[restrict n], float kx[restrict m],
                float ky[restrict m], float kz[restrict m], float real[restrict m], float imaginary[restrict m],
                float a[restrict n], float b[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++) {
            a[i] += real[k] * cosf(6.2831853f * (kx[k] * x[i] + ky[k] * y[i] + kz[k] * z[i]))
                  - imaginary[k] * sinf(6.2831853f * (kx[k] * x[i] + ky[k] * y[i] + kz[k] * z[i]));
            b[i] += imaginary[k] * cosf(6.2831853f * (kx[k] * x[i] + ky[k] * y[i] + kz[k] * z[i]))
                  + real[k] * sinf(6.2831853f * (kx[k] * x[i] + ky[k] * y[i] + kz[k] * z[i]));
        }
#pragma endscop
}
