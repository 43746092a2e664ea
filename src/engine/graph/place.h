// Where a value is and who moves it. A device has memory of its own, or is the host itself.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/core/error.h"

namespace hone {

enum class Space : uint8_t { device, host, disk };
inline constexpr std::array<Space, 3> kSpaces{Space::device, Space::host, Space::disk};
std::string_view name_of(Space s);
Result<Space> space_named(std::string_view name);

// One of something for each space.
template <class T>
class PerSpace {
 public:
  T& operator[](Space s) { return of_[static_cast<size_t>(s)]; }
  const T& operator[](Space s) const { return of_[static_cast<size_t>(s)]; }

 private:
  std::array<T, kSpaces.size()> of_{};
};

// What a queue of a device does. Work of one lane is done in the order in which it was given.
enum class Lane : uint8_t { compute, load, store, disk_read, disk_write };
inline constexpr size_t kLaneCount = 5;
std::string_view name_of(Lane l);
Result<Lane> lane_named(std::string_view name);

// The lane that copies from one space to another one.
Lane lane_between(Space from, Space to);

}  // namespace hone
