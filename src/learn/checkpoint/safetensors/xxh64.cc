#include "learn/checkpoint/safetensors/xxh64.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace hone {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9u;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5u;

template <class T>
T load(const std::byte* p) {
  static_assert(std::endian::native == std::endian::little);
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

uint64_t mix(uint64_t lane, uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

void stripe(std::array<uint64_t, 4>& lanes, const std::byte* p) {
  for (size_t i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], load<uint64_t>(p + 8 * i));
}

}  // namespace

Xxh64::Xxh64(uint64_t seed)
    : lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1},
      tail_{},
      seed_(seed) {}

void Xxh64::update(std::span<const std::byte> bytes) {
  total_ += bytes.size();
  if (tail_size_ > 0) {
    const size_t n = std::min(bytes.size(), tail_.size() - tail_size_);
    if (n > 0) std::memcpy(tail_.data() + tail_size_, bytes.data(), n);
    tail_size_ += n;
    bytes = bytes.subspan(n);
    if (tail_size_ < tail_.size()) return;
    stripe(lanes_, tail_.data());
    tail_size_ = 0;
  }
  while (bytes.size() >= 32) {
    stripe(lanes_, bytes.data());
    bytes = bytes.subspan(32);
  }
  if (!bytes.empty()) std::memcpy(tail_.data(), bytes.data(), bytes.size());
  tail_size_ = bytes.size();
}

uint64_t Xxh64::digest() const {
  uint64_t h = seed_ + kPrime5;
  if (total_ >= 32) {
    h = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
        std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_) h = (h ^ mix(0, lane)) * kPrime1 + kPrime4;
  }
  h += total_;
  const std::byte* p = tail_.data();
  size_t left = tail_size_;
  for (; left >= 8; p += 8, left -= 8)
    h = std::rotl(h ^ mix(0, load<uint64_t>(p)), 27) * kPrime1 + kPrime4;
  if (left >= 4) {
    h = std::rotl(h ^ load<uint32_t>(p) * kPrime1, 23) * kPrime2 + kPrime3;
    p += 4, left -= 4;
  }
  for (; left > 0; ++p, --left)
    h = std::rotl(h ^ static_cast<uint64_t>(*p) * kPrime5, 11) * kPrime1;
  h = (h ^ (h >> 33)) * kPrime2;
  h = (h ^ (h >> 29)) * kPrime3;
  return h ^ (h >> 32);
}

std::string hex_of(uint64_t digest) { return fmt::format("{:016x}", digest); }

}  // namespace hone
