// The messages of Group::exchange() (group.h). They have a header of their own for modules that include little else of
// hone (engines/link_module.h).
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
