#include "learn/train/averages.h"

#include <cstring>

#include "learn/train/optimizers/optimizer.h"

namespace hone {
namespace {

std::string average_of(const std::string& weight) {
  return fmt::format("{}.{}", kAverageState, weight);
}

}  // namespace

void WeightAverages::attach(Session& session, const std::vector<std::string>& weights) {
  session_ = &session;
  weights_.clear();
  for (const std::string& weight : weights)
    if (session.has_state(average_of(weight))) weights_.push_back(weight);
  if (weights_.empty()) return;
  one_.resize(kStateBlock), other_.resize(kStateBlock);
}

Status WeightAverages::exchange() {
  for (const std::string& weight : weights_) {
    const std::string average = average_of(weight);
    const int64_t bytes = session_->state_type(weight).bytes();
    for (int64_t begin = 0; begin < bytes; begin += kStateBlock) {
      const StateRange range{begin, std::min(kStateBlock, bytes - begin)};
      const auto read = [&](const std::string& name, std::vector<std::byte>& to) {
        size_t at = 0;
        return session_->read_state(name, range, [&](std::span<const std::byte> block) -> Status {
          std::memcpy(to.data() + at, block.data(), block.size());
          at += block.size();
          return Ok{};
        });
      };
      const auto write = [&](const std::string& name, const std::vector<std::byte>& from) {
        size_t at = 0;
        return session_->write_state(name, range, [&](std::span<std::byte> block) -> Status {
          std::memcpy(block.data(), from.data() + at, block.size());
          at += block.size();
          return Ok{};
        });
      };
      HONE_TRY(read(weight, one_));
      HONE_TRY(read(average, other_));
      HONE_TRY(write(weight, other_));
      HONE_TRY(write(average, one_));
    }
  }
  in_use_ = !in_use_;
  return Ok{};
}

}  // namespace hone
