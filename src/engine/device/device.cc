#include "engine/device/device.h"

namespace hone {

void Device::keep_failure(Error failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
}

std::string Device::collective() const {
  const std::lock_guard lock(mutex_);
  return collective_ ? *collective_ : std::string();
}

void Device::begin_collective(const std::string* name) {
  const std::lock_guard lock(mutex_);
  collective_ = name;
}

Status Device::check_group() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return Ok{};
}

}  // namespace hone
