// device: sharpen median rotate90 blend integral equalize bits hashes xorshift fixed
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <math.h>
#define CLAMP(x, lo, hi) ((x) < (lo) ? (lo) : (x) > (hi) ? (hi) : (x))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef uint8_t u8; typedef uint32_t u32; typedef int16_t s16; typedef uint64_t u64;
/* image filters */
static void sharpen(u8 *dst, const u8 *src, int w, int h)
{
    static const int k[3][3] = {{0, -1, 0}, {-1, 5, -1}, {0, -1, 0}};
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int acc = 0;
            for (int j = -1; j <= 1; j++)
                for (int i = -1; i <= 1; i++)
                    acc += k[j + 1][i + 1] * src[(y + j) * w + x + i];
            dst[y * w + x] = (u8) CLAMP(acc, 0, 255);
        }
}
static void median(u8 *dst, const u8 *src, int w, int h)
{
    for (int y = 1; y < h - 1; ++y)
        for (int x = 1; x < w - 1; ++x) {
            u8 v[9];
            int n = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    v[n++] = src[(y + dy) * w + (x + dx)];
            for (int i = 1; i < 9; i++) {
                u8 key = v[i];
                int j = i - 1;
                while (j >= 0 && v[j] > key) { v[j + 1] = v[j]; j--; }
                v[j + 1] = key;
            }
            dst[y * w + x] = v[4];
        }
}
static void rotate90(u32 *dst, const u32 *src, int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            dst[x * h + (h - 1 - y)] = src[y * w + x];
}
static void blend(u32 *dst, const u32 *src, int n, u8 alpha)
{
    for (int i = 0; i < n; i++) {
        u32 s = src[i], d = dst[i];
        u32 rb = (((s & 0xff00ff) * alpha + (d & 0xff00ff) * (256 - alpha)) >> 8) & 0xff00ff;
        u32 g = (((s & 0x00ff00) * alpha + (d & 0x00ff00) * (256 - alpha)) >> 8) & 0x00ff00;
        dst[i] = rb | g;
    }
}
static void dither(u8 *img, int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int old = img[y * w + x], new = old < 128 ? 0 : 255, err = old - new;
            img[y * w + x] = new;
            if (x + 1 < w) img[y * w + x + 1] = CLAMP(img[y * w + x + 1] + err * 7 / 16, 0, 255);
            if (y + 1 < h) {
                if (x > 0) img[(y + 1) * w + x - 1] = CLAMP(img[(y + 1) * w + x - 1] + err * 3 / 16, 0, 255);
                img[(y + 1) * w + x] = CLAMP(img[(y + 1) * w + x] + err * 5 / 16, 0, 255);
            }
        }
}
static void integral(u32 *sum, const u8 *src, int w, int h)
{
    for (int y = 0; y < h; y++) {
        u32 row = 0;
        for (int x = 0; x < w; x++) {
            row += src[y * w + x];
            sum[y * w + x] = row + (y ? sum[(y - 1) * w + x] : 0);
        }
    }
}
static void equalize(u8 *img, int n)
{
    int hist[256] = {0}, cdf[256];
    for (int i = 0; i < n; i++) hist[img[i]]++;
    cdf[0] = hist[0];
    for (int i = 1; i < 256; i++) cdf[i] = cdf[i - 1] + hist[i];
    int lo = 0;
    while (!cdf[lo]) lo++;
    for (int i = 0; i < n; i++)
        img[i] = (u8) ((cdf[img[i]] - cdf[lo]) * 255 / MAX(n - cdf[lo], 1));
}
/* bit tricks */
static u32 reverse(u32 x) { x = (x >> 16) | (x << 16); x = ((x & 0xff00ff00) >> 8) | ((x & 0x00ff00ff) << 8); return x; }
static int popcount(u64 x) { int c = 0; while (x) { x &= x - 1; c++; } return c; }
static void bits(u32 *o, int *c, const u32 *a, int n)
{
    for (int i = 0; i < n; i++) {
        o[i] = reverse(a[i]) ^ (a[i] << (i & 31)) ^ (a[i] >> (31 - (i & 31)));
        c[i] = popcount(((u64) a[i] << 32) | o[i]);
    }
}
static u32 fnv(const u8 *p, size_t n) { u32 h = 2166136261u; for (size_t i = 0; i < n; i++) { h ^= p[i]; h *= 16777619u; } return h; }
static void hashes(u32 *o, const u8 *text, int rows, int len) { for (int r = 0; r < rows; r++) { u32 h = 2166136261u; for (int i = 0; i < len; i++) { h ^= text[r * len + i]; h *= 16777619u; } o[r] = h; } }
static void xorshift(u64 *state, u64 *out, int streams, int draws)
{
    for (int s = 0; s < streams; s++)
        for (int d = 0; d < draws; d++) {
            u64 x = state[s];
            x ^= x << 13; x ^= x >> 7; x ^= x << 17;
            state[s] = x;
            out[s * draws + d] = x * 0x2545F4914F6CDD1Dull;
        }
}
static void fixed(s16 *o, const s16 *a, const s16 *b, int n)
{
    for (int i = 0; i < n; i++) {
        int32_t p = (int32_t) a[i] * b[i];
        p = (p + (1 << 14)) >> 15;
        o[i] = p > 32767 ? 32767 : p < -32768 ? -32768 : (s16) p;
    }
}
int main(void)
{
    enum { W = 61, H = 43, N = W * H };
    static u8 a[N], b[N]; static u32 c[N], d[N], sum[N]; static int pc[N]; static u64 st[20], dr[20 * 30]; static s16 s1[N], s2[N], s3[N];
    for (int i = 0; i < N; i++) { a[i] = (i * 37 + i / 7) & 255; c[i] = i * 2654435761u; s1[i] = i * 31; s2[i] = -i * 17; }
    for (int i = 0; i < 20; i++) st[i] = 88172645463325252ull + i;
    sharpen(b, a, W, H); median(a, b, W, H); rotate90(d, c, W, H); blend(c, d, N, 77); dither(b, W, H); integral(sum, a, W, H); equalize(a, N);
    bits(d, pc, c, N); u32 hh[N / 61]; hashes(hh, a, N / 61, 61); xorshift(st, dr, 20, 30); fixed(s3, s1, s2, N);
    printf("%u %u %u %u %u %u %u %u %u\n", fnv(a, N), fnv(b, N), fnv((u8 *) c, 4 * N), fnv((u8 *) d, 4 * N), fnv((u8 *) sum, 4 * N), fnv((u8 *) pc, 4 * N), fnv((u8 *) hh, sizeof hh), fnv((u8 *) dr, sizeof dr), fnv((u8 *) s3, 2 * N));
    return 0;
}
