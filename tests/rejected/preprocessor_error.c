#ifndef SIZE
#error "define SIZE"
#endif

float a[SIZE];
