// Space: the memory that a value is in. Lane: the queue that runs a node. A device has memory of its own, or is the
// host (the CPU) itself. If it is the host, the spaces `device` and `host` are the same memory.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/core/error.h"

namespace hone {

enum class Space : uint8_t { device, host, disk };
inline constexpr std::array<Space, 3> kSpaces{Space::device, Space::host, Space::disk};
std::string_view name_of(Space s);
Result<Space> space_named(std::string_view name);  // H1002: unknown name

// An array of one T for each space.
template <class T>
class PerSpace {
 public:
  T& operator[](Space s) { return of_[static_cast<size_t>(s)]; }
  const T& operator[](Space s) const { return of_[static_cast<size_t>(s)]; }

 private:
  std::array<T, kSpaces.size()> of_{};
};

// The queues of a device. Work of one lane runs in the order in which it was given. Lanes may work in parallel.
//   compute              kernels of the device
//   load, store          copies from the host to the device, and from the device to the host
//   disk_read            copies from the disk
//   disk_write           copies to the disk
//   host_compute         kernels of the host
//   comm                 exchanges with other ranks
enum class Lane : uint8_t { compute, load, store, disk_read, disk_write, host_compute, comm };
inline constexpr size_t kLaneCount = 7;
std::string_view name_of(Lane l);
Result<Lane> lane_named(std::string_view name);  // H1002: unknown name

// The lane that copies from space `from` to space `to`.
Lane lane_between(Space from, Space to);

// Whether a device has a lane host_compute, and which memory the lane's kernels can reach.
enum class HostLane : uint8_t {
  none,      // there is no lane host_compute
  apart,     // its kernels read and write the host's memory only
  one_place  // the device's memory is the host's: its kernels read and write both spaces
};

}  // namespace hone
