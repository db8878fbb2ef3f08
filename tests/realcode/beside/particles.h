typedef struct { double x, y; } vec;
typedef struct { vec at, speed; double mass; } particle;
extern double gravity;
vec pull(const particle *on, const particle *by);
double energy(particle p);
void advance(particle *p, vec force, double dt);
void relax(double row[3], const double right[3]);
