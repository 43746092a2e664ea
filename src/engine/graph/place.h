// The space of a value and the lanes that move it. A device has memory of its own, or is the host
// itself.
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

// The kinds of work of a device's queues. Work of one lane runs in the order in which it was given.
enum class Lane : uint8_t { compute, load, store, disk_read, disk_write, host_compute, comm };
inline constexpr size_t kLaneCount = 7;
std::string_view name_of(Lane l);
Result<Lane> lane_named(std::string_view name);

// The lane that copies from one space to another one.
Lane lane_between(Space from, Space to);

// Kernels that the lane host_compute offers besides a device.
enum class HostLane : uint8_t {
  none,      // there are none
  apart,     // they read and write the host's memory only
  one_place  // also the device's, whose memory is the host's
};

}  // namespace hone
