// Assigns offsets in one region of memory to buffers with known lifetimes. Buffers that are alive at different times
// may share bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone {

struct Lifetime {
  int64_t bytes = 0;
  // The first and the last node at which the buffer is alive, inclusive.
  int32_t first = 0, last = 0;
  int64_t offset = 0;  // set by assign_offsets(): bytes from the start of the region
};

struct Search {
  // Up to this number of buffers, a new buffer is compared with each placed buffer. With more buffers an index of the
  // placed buffers is used, which is slower for few buffers. The offsets are the same.
  size_t few = 4096;
  int64_t enough = 0;     // bytes: a region up to this size gets less search; see assign_offsets()
  int64_t looked_at = 0;  // set by assign_offsets(): how often it looked at a placed buffer
};

// Sets the offset of each buffer so that buffers which are alive at the same node do not overlap. Returns the region's
// size in bytes. `search` may be null. Equal input gets equal offsets.
//
// most_alive() is a lower bound of the size, which some sets of lifetimes cannot reach. The function places the buffers
// one after another, in several orders (by size, by area = size * lifetime, by first node). Then it repeatedly moves
// the buffer with the largest offset + bytes to an earlier place in the order. It stops when the size is at most 0.5 %
// above the bound, or at most 2 % above the bound and at most search->enough, or after about 0.2 s. If the size is then
// more than 2 % above the bound and larger than search->enough, the search continues for up to about 2 s. For a program
// of equal layers, Search::looked_at grows little faster than the number of buffers.
int64_t assign_offsets(std::vector<Lifetime>& buffers, Search* search = nullptr);

// The most bytes that are alive at one node; 0 without buffers. `at`, if not null, receives the index of that node.
int64_t most_alive(const std::vector<Lifetime>& buffers, int32_t* at = nullptr);

}  // namespace hone
