// The interface of the decompressors that Unpacker (base/store/unpack.h) uses, one for each format.
#pragma once

#include <string>
#include <string_view>

namespace hone {

class UnpackCodec {
 public:
  // The result of a step. kSome: the member continues. kMemberEnd: the compressed member has ended. kFailed: the data
  // is damaged. kRefused: the data has a feature that is not supported.
  enum class Did { kSome, kMemberEnd, kFailed, kRefused };
  virtual ~UnpackCodec() = default;
  // Decompresses the bytes at the front of `in` into [to, end). Advances `in` and `to` by the bytes that were used and
  // written. kFailed and kRefused set `why` to the reason.
  virtual Did step(std::string_view& in, char*& to, char* end, std::string& why) = 0;
  virtual void next_member() = 0;  // prepares for a further member after kMemberEnd
};

}  // namespace hone
