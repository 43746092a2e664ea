// Messages in the wire format of Protocol Buffers, written field by field (protobuf.dev, "Encoding").
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hone::protobuf {

template <class T>
std::string little_endian(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));  // every machine that hone runs on is
  return bytes;
}

inline std::string varint(uint64_t x) {
  std::string s;
  for (; x >= 0x80; x >>= 7) s += static_cast<char>(x | 0x80);
  return s + static_cast<char>(x);
}
inline std::string key(int field, int wire) {
  return varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire));
}
inline std::string number(int field, int64_t x) {
  return key(field, 0) + varint(static_cast<uint64_t>(x));
}
// A text, or a message inside of another.
inline std::string bytes(int field, std::string_view x) {
  return key(field, 2) + varint(x.size()) + std::string(x);
}
inline std::string real(int field, double x) { return key(field, 1) + little_endian(x); }
inline std::string real(int field, float x) { return key(field, 5) + little_endian(x); }

}  // namespace hone::protobuf
