/* A shared library needs a source of its own; everything in it comes from the components. */
typedef int gyre_anchor;
