#include "engine/device/device.h"

#include "engine/comm/group.h"

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
  {
    const std::lock_guard lock(mutex_);
    collective_ = name;
  }
  CollectiveWatch* const watch = group_ ? group_->watch() : nullptr;
  if (watch != nullptr && name != nullptr) watch->reach(*name);
  if (watch != nullptr && name == nullptr) watch->pass();
}

Status Device::check_group() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return Ok{};
}

}  // namespace hone
