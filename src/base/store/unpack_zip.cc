#include "base/store/unpack_zip.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/core/text.h"

namespace hone {
namespace {

using namespace std::string_view_literals;
using Codec = UnpackCodec;

constexpr auto kLocal = "PK\3\4"sv, kCentral = "PK\1\2"sv, kEnd = "PK\5\6"sv, kEnd64 = "PK\6\6"sv,
               kLocator64 = "PK\6\7"sv, kSums = "PK\7\10"sv;
constexpr uint64_t kStored = 0, kDeflated = 8, kEncrypted = 1, kSumsBehind = 8;

std::string shown(const std::string& name) {
  std::string out = name.substr(0, 60);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 32 || c == 127; }, '?');
  return out;
}

class Zip final : public Codec {
 public:
  Zip() { HONE_BUG_IF(inflateInit2(&stream_, -15) != Z_OK, "zlib does not begin"); }
  ~Zip() override { inflateEnd(&stream_); }

  Did step(std::string_view& in, char*& to, char* end, std::string& why) override {
    for (;;) {
      const auto passed = static_cast<size_t>(std::min<uint64_t>(s_.skip, in.size()));
      in.remove_prefix(passed);
      s_.skip -= passed;
      if (s_.skip > 0) return Did::kSome;
      if (s_.at == At::kBehind) return Did::kMemberEnd;
      if (s_.at == At::kData) {
        const char* const begin = to;
        why = data(in, to, end);
        if (why.empty() && (to > begin || s_.at == At::kData)) return Did::kSome;
      } else {
        const size_t taken = std::min(s_.need - s_.head.size(), in.size());
        s_.head.append(in.substr(0, taken));
        in.remove_prefix(taken);
        if (s_.head.size() < s_.need) return Did::kSome;
        why = s_.at == At::kSums ? sums() : record();
      }
      if (!why.empty()) return s_.refused ? Did::kRefused : Did::kFailed;
    }
  }
  void next_member() override { s_ = State(); }

 private:
  enum class At { kRecord, kData, kSums, kBehind };
  struct State {
    At at = At::kRecord;
    std::string head;    // of the record
    size_t need = 4;     // bytes of it, as far as is known
    uint64_t skip = 0;   // bytes to pass over
    std::string file;    // that is given
    bool given = false;  // these data are of it
    bool sums_behind = false, sizes64 = false, refused = false;
    uint64_t method = kStored, left = 0;  // bytes of stored data
    uint64_t stated = 0, sum = 0;         // CRC-32
  };

  // A number of the record, the low byte first.
  uint64_t number(size_t at, size_t bytes) const {
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<uint8_t>(s_.head[at + i]);
    return value;
  }
  bool has(size_t bytes) {
    s_.need = bytes;
    return s_.head.size() >= bytes;
  }
  void next_record() { s_.at = At::kRecord, s_.head.clear(), s_.need = 4; }
  std::string refuse(std::string what) {
    s_.refused = true;
    return what;
  }

  // Reads one record; returns the error, or "".
  std::string record() {
    const std::string_view kind = std::string_view(s_.head).substr(0, 4);
    if (kind == kLocal) return file();
    size_t bytes = 0;
    if (kind == kCentral && has(bytes = 46))
      s_.skip = number(28, 2) + number(30, 2) + number(32, 2);
    if (kind == kEnd64 && has(bytes = 12)) s_.skip = number(4, 8);
    if (kind == kLocator64) has(bytes = 20);
    if (kind == kEnd && has(bytes = 22)) {
      if (s_.file.empty()) return refuse("it holds no file");
      s_.skip = number(20, 2);
      s_.at = At::kBehind;
      return "";
    }
    if (bytes == 0) return "a record of the ZIP archive is missing where one should be";
    if (s_.head.size() == s_.need) next_record();
    return "";
  }

  std::string file() {
    if (!has(30)) return "";
    const size_t name_bytes = number(26, 2), extra = 30 + name_bytes, end = extra + number(28, 2);
    if (!has(end)) return "";
    const std::string name = s_.head.substr(30, name_bytes);
    const uint64_t flags = number(6, 2);
    s_.method = number(8, 2);
    s_.stated = number(14, 4);
    s_.left = number(18, 4);
    s_.sizes64 = false;
    for (size_t at = extra; at + 4 <= end; at += 4 + number(at + 2, 2)) {
      if (number(at, 2) != 1) continue;
      s_.sizes64 = true;
      // The sizes that do not fit above: unpacked, then packed.
      const size_t packed = at + 4 + (number(22, 4) == UINT32_MAX ? 8 : 0);
      if (s_.left == UINT32_MAX && packed + 8 <= end) s_.left = number(packed, 8);
    }
    s_.sums_behind = (flags & kSumsBehind) != 0;
    s_.given = !name.ends_with('/') && !name.starts_with("__MACOSX/");
    if (s_.given && !s_.file.empty())
      return refuse(
          fmt::format("it holds several files, '{}' and '{}'", shown(s_.file), shown(name)));
    if (s_.given) s_.file = name;
    if (flags & kEncrypted) return refuse("it is encrypted");
    if (s_.method != kStored && s_.method != kDeflated)
      return refuse(fmt::format("its method {} is neither stored nor deflated", s_.method));
    if (s_.method == kStored && s_.sums_behind && s_.given)
      return refuse("its file is stored without its size in front");
    inflateReset(&stream_);
    s_.sum = 0;
    s_.at = At::kData;
    return "";
  }

  std::string data(std::string_view& in, char*& to, const char* end) {
    std::array<char, 4096> passed;
    char* const begin = s_.given ? to : passed.data();
    const auto room = static_cast<size_t>(s_.given ? end - to : std::ssize(passed));
    size_t made = 0;
    bool done = false;
    if (s_.method == kStored) {
      made = static_cast<size_t>(std::min<uint64_t>({s_.left, in.size(), room}));
      std::copy_n(in.data(), made, begin);
      in.remove_prefix(made);
      s_.left -= made;
      done = s_.left == 0;
    } else {
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
      stream_.avail_in = static_cast<uInt>(in.size());
      stream_.next_out = reinterpret_cast<Bytef*>(begin);
      stream_.avail_out = static_cast<uInt>(room);
      const int did = inflate(&stream_, Z_NO_FLUSH);
      in.remove_prefix(in.size() - stream_.avail_in);
      made = room - stream_.avail_out;
      done = did == Z_STREAM_END;
      if (!done && did != Z_OK && did != Z_BUF_ERROR)
        return stream_.msg ? stream_.msg : zError(did);
    }
    s_.sum = crc32(s_.sum, reinterpret_cast<const Bytef*>(begin), static_cast<uInt>(made));
    if (s_.given) to += made;
    if (!done) return "";
    next_record();
    if (s_.sums_behind) s_.at = At::kSums;
    return s_.sums_behind ? "" : check_sum(s_.stated);
  }

  std::string sums() {
    const size_t mark = std::string_view(s_.head).starts_with(kSums) ? 4 : 0;
    if (!has(mark + (s_.sizes64 ? 20 : 12))) return "";
    const uint64_t stated = number(mark, 4);
    next_record();
    return check_sum(stated);
  }

  std::string check_sum(uint64_t stated) const {
    return stated == s_.sum ? "" : "its check sum is wrong";
  }

  State s_;
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<UnpackCodec> make_zip_codec() { return std::make_unique<Zip>(); }

}  // namespace hone
