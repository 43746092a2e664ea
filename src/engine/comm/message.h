// Messages of an exchange (group.h); in a header of their own for modules that know nothing else of
// hone.
#pragma once

#include <cstddef>
#include <span>

namespace hone {

struct Send {
  int to = 0;
  std::span<const std::byte> bytes;
};
struct Receive {
  int from = 0;
  std::span<std::byte> bytes;
};

}  // namespace hone
