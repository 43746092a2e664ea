// Writes messages in the wire format of Protocol Buffers (protobuf.dev, "Encoding"). Each function returns the bytes of
// a part; a message is its fields joined.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hone::protobuf {

// The bytes of a number in little-endian order.
template <class T>
std::string little_endian(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));  // hone runs on little-endian machines only
  return bytes;
}

// A number in the varint encoding: seven bits a byte, the lowest first.
inline std::string varint(uint64_t x) {
  std::string s;
  for (; x >= 0x80; x >>= 7) s += static_cast<char>(x | 0x80);
  return s + static_cast<char>(x);
}
// The tag before a field's value. `wire` is the wire type: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes.
inline std::string key(int field, int wire) {
  return varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire));
}
// The functions below return a whole field.

// A field of type int32, int64, uint64, bool or enum.
inline std::string number(int field, int64_t x) {
  return key(field, 0) + varint(static_cast<uint64_t>(x));
}
// A field of type string, bytes, or message.
inline std::string bytes(int field, std::string_view x) {
  return key(field, 2) + varint(x.size()) + std::string(x);
}
// A field of type double or float.
inline std::string real(int field, double x) { return key(field, 1) + little_endian(x); }
inline std::string real(int field, float x) { return key(field, 5) + little_endian(x); }

}  // namespace hone::protobuf
