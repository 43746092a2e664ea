#include "base/unicode/base64.h"

#include <cstdint>

namespace hone {
namespace {

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

bool decode_base64(std::string_view in, std::string& out) {
  out.clear();
  while (in.ends_with('=')) in.remove_suffix(1);
  if (in.empty() || in.size() % 4 == 1) return false;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : in) {
    const int value = sextet(c);
    if (value < 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if ((count += 6) >= 8) out.push_back(static_cast<char>(bits >> (count -= 8) & 0xff));
  }
  return true;
}

std::string encode_base64(std::string_view bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += kDigits[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kDigits[bits << (6 - count) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

}  // namespace hone
