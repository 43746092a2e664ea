// The messages of the control plane and their encoding: the four bytes "hone", the length of the head and the length of
// the body (4 bytes each, little-endian), the head (a JSON object), and the body (any bytes).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

struct Frame {
  Json head = Json::object();
  std::string body = {};
};

// The largest frame that a reader accepts.
struct FrameLimits {
  size_t head_bytes, body_bytes;
};
// Limits for frames from a connection that has not joined the run.
inline constexpr FrameLimits kStrangerLimits = {size_t{128} << 10, size_t{64} << 10};
// Limits for frames from a rank.
inline constexpr FrameLimits kRankLimits = {size_t{64} << 10, (size_t{1} << 20) + 4096};
// Limits for frames from the server.
inline constexpr FrameLimits kServerLimits = {size_t{1} << 20, size_t{256} << 20};

std::string encode_frame(const Frame& frame);

// Decodes frames from a stream of bytes.
class FrameReader {
 public:
  explicit FrameReader(FrameLimits limits) : limits_(limits) {}
  void set_limits(FrameLimits limits) { limits_ = limits; }
  void add(std::string_view bytes) { bytes_ += bytes; }
  // The next frame of the added bytes; nullopt: it is incomplete. Error H0128 if the bytes are not a frame, or the
  // frame is larger than the limits.
  Result<std::optional<Frame>> next();

 private:
  FrameLimits limits_;
  std::string bytes_;
  size_t taken_ = 0;  // the number of bytes of bytes_ that were decoded
};

}  // namespace hone
