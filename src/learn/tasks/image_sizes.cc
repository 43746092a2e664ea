#include "learn/tasks/image_sizes.h"

#include <algorithm>
#include <charconv>

#include "base/settings/errors.h"
#include "learn/models/config.h"

namespace hone {
namespace {

constexpr int64_t kLastEpoch = 1'000'000'000;

// "10:160" -> {10, 160}
bool read_pair(const std::string& word, int64_t& epoch, int64_t& side) {
  const char *at = word.data(), *end = at + word.size();
  const auto first = std::from_chars(at, end, epoch);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') return false;
  const auto second = std::from_chars(first.ptr + 1, end, side);
  return second.ec == std::errc() && second.ptr == end && epoch >= 0 && epoch <= kLastEpoch &&
         side >= 1 && side <= kLargestImage;
}

}  // namespace

Result<ImageSizes> ImageSizes::make(const std::vector<std::string>& words, int64_t usual) {
  ImageSizes sizes;
  if (words.empty()) return sizes;
  sizes.from_.push_back({0, usual});
  int64_t before = -1;
  for (const std::string& word : words) {
    From one{};
    if (!read_pair(word, one.epoch, one.side) || one.epoch <= before)
      return Error(err::kSettingChoice,
                   fmt::format(
                       "'{}' is not EPOCH:PIXELS with an epoch later than that of the word before",
                       word))
          .at("--image_size_by_epoch")
          .todo(
              "write ascending epochs, counted from 0, and pixels of a side: 0:128 10:160 20:224");
    before = one.epoch;
    if (one.epoch == 0) sizes.from_.clear();
    sizes.from_.push_back(one);
  }
  for (const From& one : sizes.from_) sizes.sides_.push_back(one.side);
  std::sort(sizes.sides_.begin(), sizes.sides_.end());
  sizes.sides_.erase(std::unique(sizes.sides_.begin(), sizes.sides_.end()), sizes.sides_.end());
  return sizes;
}

size_t ImageSizes::index(int64_t epoch) const {
  int64_t side = 0;
  for (const From& one : from_)
    if (one.epoch <= epoch) side = one.side;
  return static_cast<size_t>(std::lower_bound(sides_.begin(), sides_.end(), side) - sides_.begin());
}

}  // namespace hone
