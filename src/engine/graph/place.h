// Where a value is and who moves it. A device has memory of its own, or is the host itself.
#pragma once

#include <cstdint>

namespace hone {

enum class Space : uint8_t { device, host, disk };

// What a queue of a device does. Work of one lane is done in the order in which it was given.
enum class Lane : uint8_t { compute, load, store, disk_read, disk_write, host_compute, comm };

}  // namespace hone
