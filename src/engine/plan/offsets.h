// Offset assignment: puts buffers with known lifetimes into one region.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone {

struct Lifetime {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;  // nodes during which the buffer is alive, inclusive
  int64_t offset = 0;           // result
};

struct Search {
  // Up to this number of buffers are looked at one by one, which is faster than an index and gives
  // the same places.
  size_t few = 4096;
  int64_t enough = 0;     // bytes; a region of this size is worth no long search for a smaller one
  int64_t looked_at = 0;  // result: number of looks at placed buffers
};

// Gives each buffer an offset so that no two alive together overlap; returns the region's size.
// Tries several orders (by size, by area, by birth), then moves the highest ones until the region
// is within half a percent of most_alive(), which no placement can beat and not every set of
// lifetimes can reach. 2 % suffice if the region is at most `enough`. The same buffers get the same
// offsets. The search ends after a fixed amount of work, about 0.2 s; if that leaves a region above
// both 2 % and `enough`, about 2 s. For a program of layers, the number of looks grows little
// faster than the number of buffers.
int64_t assign_offsets(std::vector<Lifetime>& buffers, Search* search = nullptr);

// The most bytes alive at one node, and that node. No assignment can use less.
int64_t most_alive(const std::vector<Lifetime>& buffers, int32_t* at = nullptr);

}  // namespace hone
