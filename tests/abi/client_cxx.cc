// The client as C++, where function types must match exactly.
#include "client.c"
