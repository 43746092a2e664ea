// Helpers for tests: reads the expected results in tests/goldens/images, and compares images.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/core/json.h"
#include "base/unicode/base64.h"
#include "learn/images/image.h"

namespace hone {

inline Json image_golden(const std::string& name) {
  std::ifstream in(std::string(HONE_SOURCE_DIR) + "/tests/goldens/images/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  auto json = parse_json(text.str(), name);
  EXPECT_TRUE(json.ok());
  return std::move(*json);
}

inline std::string golden_bytes(const Json& base64) {
  std::string bytes;
  EXPECT_TRUE(decode_base64(base64.get<std::string>(), bytes));
  return bytes;
}

inline Image image_of(const std::string& rgb, int64_t width, int64_t height) {
  Image image;
  image.resize(width, height);
  for (size_t i = 0; i < static_cast<size_t>(width * height); ++i)
    for (size_t c = 0; c < 3; ++c) image.pixels[i * 4 + c] = static_cast<uint8_t>(rgb[i * 3 + c]);
  return image;
}

// The largest difference between two channel values of the images; 1000 if their sizes differ.
inline int largest_difference(const Image& a, const Image& b) {
  if (a.width != b.width || a.height != b.height) return 1000;
  int most = 0;
  for (size_t i = 0; i < static_cast<size_t>(a.width * a.height); ++i)
    for (size_t c = 0; c < 3; ++c)
      most = std::max(most, std::abs(int{a.pixels[i * 4 + c]} - int{b.pixels[i * 4 + c]}));
  return most;
}

}  // namespace hone
