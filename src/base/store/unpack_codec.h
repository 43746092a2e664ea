// What a kind of compressed file is unpacked with.
#pragma once

#include <string>
#include <string_view>

namespace hone {

class UnpackCodec {
 public:
  enum class Did { kSome, kMemberEnd, kFailed, kRefused };
  virtual ~UnpackCodec() = default;
  // Takes from the front of `in` and puts at `to`; both are moved on. kFailed (damaged) and
  // kRefused: `why` says it.
  virtual Did step(std::string_view& in, char*& to, char* end, std::string& why) = 0;
  virtual void next_member() = 0;
};

}  // namespace hone
