#include "base/store/hash.h"

#include <bit>
#include <cstring>

#include "base/store/store.h"

namespace hone {
namespace {

uint32_t big_endian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
}

// Both hashes cut their input into blocks of 64 bytes, kept in `buffer` until full.
template <class Block>
void feed(std::span<const std::byte> bytes, uint8_t* buffer, uint64_t& total, Block block) {
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size(), held = total % 64;
  total += left;
  if (held > 0) {
    size_t n = std::min(left, 64 - held);
    std::memcpy(buffer + held, p, n);
    p += n;
    left -= n;
    if (held + n < 64) return;
    block(buffer);
  }
  for (; left >= 64; p += 64, left -= 64) block(p);
  if (left > 0) std::memcpy(buffer, p, left);
}

// One bit, zeros, and the length in bits.
template <class Hash>
void pad(Hash& hash, uint64_t bytes) {
  std::byte tail[72] = {std::byte{0x80}};
  size_t zeros = (bytes % 64 < 56 ? 56 : 120) - bytes % 64;
  for (int i = 0; i < 8; ++i) tail[zeros + i] = static_cast<std::byte>(bytes * 8 >> (56 - 8 * i));
  hash.add({tail, zeros + 8});
}

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

template <class Hash>
Status add_file(Store& store, const std::string& path, Hash& hash) {
  std::unique_ptr<Reader> reader = HONE_TRY(store.open(path));
  std::vector<std::byte> buffer(1 << 20);
  for (int64_t at = 0; at < reader->bytes();) {
    size_t n = static_cast<size_t>(std::min<int64_t>(reader->bytes() - at, 1 << 20));
    HONE_TRY(reader->read(at, std::span(buffer).first(n)));
    hash.add(std::span(buffer).first(n));
    at += static_cast<int64_t>(n);
  }
  return Ok{};
}

}  // namespace

void Sha256::block(const uint8_t* p) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) w[i] = big_endian(p + 4 * i);
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t a = h_[0], b = h_[1], c = h_[2], d = h_[3], e = h_[4], f = h_[5], g = h_[6], h = h_[7];
  for (int i = 0; i < 64; ++i) {
    uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  uint32_t sum[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) h_[i] += sum[i];
}
void Sha256::add(std::span<const std::byte> bytes) {
  feed(bytes, buffer_, bytes_, [this](const uint8_t* p) { block(p); });
}
std::string Sha256::hex() {
  pad(*this, bytes_);
  return fmt::format("{:08x}", fmt::join(h_, ""));
}

void Sha1::block(const uint8_t* p) {
  uint32_t w[80];
  for (int i = 0; i < 16; ++i) w[i] = big_endian(p + 4 * i);
  for (int i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  uint32_t a = h_[0], b = h_[1], c = h_[2], d = h_[3], e = h_[4];
  for (int i = 0; i < 80; ++i) {
    uint32_t f = i < 20   ? (b & c) | (~b & d)
                 : i < 40 ? b ^ c ^ d
                 : i < 60 ? (b & c) | (b & d) | (c & d)
                          : b ^ c ^ d;
    constexpr uint32_t kAdd[4] = {0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
    uint32_t t = std::rotl(a, 5) + f + e + kAdd[i / 20] + w[i];
    e = d, d = c, c = std::rotl(b, 30), b = a, a = t;
  }
  uint32_t sum[5] = {a, b, c, d, e};
  for (int i = 0; i < 5; ++i) h_[i] += sum[i];
}
void Sha1::add(std::span<const std::byte> bytes) {
  feed(bytes, buffer_, bytes_, [this](const uint8_t* p) { block(p); });
}
std::string Sha1::hex() {
  pad(*this, bytes_);
  return fmt::format("{:08x}", fmt::join(h_, ""));
}

std::string sha256_of_text(std::string_view text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.hex();
}

Result<std::string> sha256_of_file(Store& store, const std::string& path) {
  Sha256 hash;
  HONE_TRY(add_file(store, path, hash));
  return hash.hex();
}
Result<std::string> git_blob_id_of_file(Store& store, const std::string& path) {
  Sha1 hash;
  std::string head = fmt::format("blob {}", HONE_TRY(store.bytes(path)));
  hash.add(std::as_bytes(std::span(head.c_str(), head.size() + 1)));
  HONE_TRY(add_file(store, path, hash));
  return hash.hex();
}

}  // namespace hone
