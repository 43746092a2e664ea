#include "base/store/unpack.h"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/unpack_codec.h"
#include "base/store/unpack_zip.h"

namespace hone {
namespace {

constexpr int64_t kPullBytes = 64 << 10;
constexpr uint64_t kXzMemory = 512ull << 20;

using Codec = UnpackCodec;

struct Kind {
  Packing packing;
  const char* name;
  const char* extensions[2];
  const char* test;  // how the format's own tool tests a file
};
constexpr Kind kKinds[] = {{Packing::kGzip, "gzip", {".gz", ".gzip"}, "gzip -t"},
                           {Packing::kZstd, "zstd", {".zst", ".zstd"}, "zstd -t"},
                           {Packing::kBzip2, "bzip2", {".bz2", ".bz2"}, "bzip2 -t"},
                           {Packing::kXz, "xz", {".xz", ".xz"}, "xz -t"},
                           {Packing::kZip, "zip", {".zip", ".zip"}, "unzip -t"}};

const Kind& kind_of(Packing packing) {
  for (const Kind& kind : kKinds) {
    if (kind.packing == packing) return kind;
  }
  throw_bug(__FILE__, __LINE__, "no kind of compression");
}

// Length of the extension that names a compression at the end of `name`, or 0.
size_t packing_extension(std::string_view name, Packing& packing) {
  const std::string lower = to_lower(name);
  for (const Kind& kind : kKinds) {
    for (const std::string_view extension : kind.extensions) {
      if (lower.size() > extension.size() && lower.ends_with(extension)) {
        packing = kind.packing;
        return extension.size();
      }
    }
  }
  return 0;
}

// zlib, bzip2 and lzma share the names of their stream's fields.
template <class Stream>
void give(Stream& stream, std::string_view in, char* to, char* end) {
  using InPointer = decltype(stream.next_in);
  using OutPointer = decltype(stream.next_out);
  stream.next_in = reinterpret_cast<InPointer>(const_cast<char*>(in.data()));
  stream.avail_in = static_cast<decltype(stream.avail_in)>(in.size());
  stream.next_out = reinterpret_cast<OutPointer>(to);
  stream.avail_out = static_cast<decltype(stream.avail_out)>(end - to);
}
template <class Stream>
void take(const Stream& stream, std::string_view& in, char*& to, const char* end) {
  in.remove_prefix(in.size() - stream.avail_in);
  to += end - to - static_cast<std::ptrdiff_t>(stream.avail_out);
}

class Gzip final : public Codec {
 public:
  Gzip() { HONE_BUG_IF(inflateInit2(&stream_, 15 + 16) != Z_OK, "zlib does not begin"); }
  ~Gzip() override { inflateEnd(&stream_); }
  Did step(std::string_view& in, char*& to, char* end, std::string& why) override {
    give(stream_, in, to, end);
    const int did = inflate(&stream_, Z_NO_FLUSH);
    take(stream_, in, to, end);
    if (did == Z_STREAM_END) return Did::kMemberEnd;
    if (did == Z_OK || did == Z_BUF_ERROR) return Did::kSome;
    why = stream_.msg ? stream_.msg : zError(did);
    return Did::kFailed;
  }
  void next_member() override { inflateReset(&stream_); }

 private:
  z_stream stream_{};
};

class Zstd final : public Codec {
 public:
  Zstd() : stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    HONE_BUG_IF(!stream_, "zstd does not begin");
  }
  Did step(std::string_view& in, char*& to, char* end, std::string& why) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer into{to, static_cast<size_t>(end - to), 0};
    const size_t did = ZSTD_decompressStream(stream_.get(), &into, &from);
    header_.append(in.substr(0, std::min(from.pos, kHeaderBytes - header_.size())));
    made_ += into.pos;
    in.remove_prefix(from.pos);
    to += into.pos;
    if (ZSTD_isError(did)) {
      why = ZSTD_getErrorName(did);
      return Did::kFailed;
    }
    if (header_.size() >= 4 && packing_of_bytes(header_) != Packing::kZstd) {
      why = "a frame of a format older than zstd 1.0";  // the library may misread it
      return Did::kFailed;
    }
    if (did != 0) return Did::kSome;
    // The library looks at the size that a header states only when a frame comes in one piece.
    const unsigned long long stated = ZSTD_getFrameContentSize(header_.data(), header_.size());
    if (stated != ZSTD_CONTENTSIZE_UNKNOWN && stated != made_) {
      why = fmt::format("its header states {} bytes and it holds {}", stated, made_);
      return Did::kFailed;
    }
    return Did::kMemberEnd;
  }
  void next_member() override {
    ZSTD_DCtx_reset(stream_.get(), ZSTD_reset_session_only);
    header_.clear();
    made_ = 0;
  }

 private:
  static constexpr size_t kHeaderBytes = 18;  // of the longest header of a frame
  std::string header_;                        // the first bytes of the frame
  unsigned long long made_ = 0;               // bytes of text from it
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream_;
};

class Bzip2 final : public Codec {
 public:
  Bzip2() { begin(); }
  ~Bzip2() override { BZ2_bzDecompressEnd(&stream_); }
  Did step(std::string_view& in, char*& to, char* end, std::string& why) override {
    give(stream_, in, to, end);
    const int did = BZ2_bzDecompress(&stream_);
    take(stream_, in, to, end);
    if (did == BZ_STREAM_END) return Did::kMemberEnd;
    if (did == BZ_OK) return Did::kSome;
    why = did == BZ_DATA_ERROR_MAGIC ? "no bzip2 header" : "a check sum or code is wrong";
    return Did::kFailed;
  }
  void next_member() override {
    BZ2_bzDecompressEnd(&stream_);
    begin();
  }

 private:
  void begin() {
    stream_ = {};
    HONE_BUG_IF(BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK, "bzip2 does not begin");
  }
  bz_stream stream_{};
};

class Xz final : public Codec {
 public:
  Xz() { next_member(); }
  ~Xz() override { lzma_end(&stream_); }
  Did step(std::string_view& in, char*& to, char* end, std::string& why) override {
    give(stream_, in, to, end);
    const lzma_ret did = lzma_code(&stream_, LZMA_RUN);
    take(stream_, in, to, end);
    switch (did) {
      case LZMA_STREAM_END:
        return Did::kMemberEnd;
      case LZMA_OK:
      case LZMA_BUF_ERROR:
        return Did::kSome;
      case LZMA_MEMLIMIT_ERROR:
        why = fmt::format("needs {} to unpack, more than {}",
                          format_bytes(static_cast<int64_t>(lzma_memusage(&stream_))),
                          format_bytes(static_cast<int64_t>(kXzMemory)));
        break;
      case LZMA_FORMAT_ERROR:
        why = "no xz header";
        break;
      case LZMA_OPTIONS_ERROR:
        why = "made with options that this liblzma does not have";
        break;
      default:
        why = "a check sum or code is wrong";
    }
    return Did::kFailed;
  }
  void next_member() override {
    HONE_BUG_IF(lzma_stream_decoder(&stream_, kXzMemory, 0) != LZMA_OK, "lzma does not begin");
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

std::unique_ptr<Codec> make_codec(Packing packing) {
  switch (packing) {
    case Packing::kGzip:
      return std::make_unique<Gzip>();
    case Packing::kZstd:
      return std::make_unique<Zstd>();
    case Packing::kBzip2:
      return std::make_unique<Bzip2>();
    case Packing::kXz:
      return std::make_unique<Xz>();
    case Packing::kZip:
      return make_zip_codec();
    case Packing::kNone:
      break;
  }
  throw_bug(__FILE__, __LINE__, "no kind of compression");
}

}  // namespace

Packing packing_of_bytes(std::string_view head) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(head[i]); };
  if (head.starts_with("\x1F\x8B\x08")) return Packing::kGzip;
  if (head.starts_with("\x28\xB5\x2F\xFD")) return Packing::kZstd;
  // A frame that is skipped: 0x184D2A50 to 0x184D2A5F, the low byte first.
  if (head.size() >= 4 && (byte(0) & 0xF0) == 0x50 && head.substr(1).starts_with("\x2A\x4D\x18"))
    return Packing::kZstd;
  // "BZh", the level, and pi for a block or its root for the end.
  if (head.size() >= 10 && head.starts_with("BZh") && byte(3) >= '1' && byte(3) <= '9' &&
      (head.substr(4).starts_with("\x31\x41\x59\x26\x53\x59") ||
       head.substr(4).starts_with("\x17\x72\x45\x38\x50\x90"))) {
    return Packing::kBzip2;
  }
  if (head.starts_with(std::string_view("\xFD\x37zXZ\0", 6))) return Packing::kXz;
  if (head.starts_with("PK\3\4") || head.starts_with("PK\5\6")) return Packing::kZip;
  return Packing::kNone;
}

Packing packing_of_name(std::string_view name) {
  Packing packing = Packing::kNone;
  packing_extension(name, packing);
  return packing;
}

std::string_view without_packing(std::string_view name) {
  Packing packing;
  name.remove_suffix(packing_extension(name, packing));
  return name;
}

const char* packing_name(Packing packing) { return kind_of(packing).name; }

Unpacker::Unpacker(Packing packing, std::string name, Pull pull)
    : packing_(packing),
      name_(std::move(name)),
      pull_(std::move(pull)),
      codec_(make_codec(packing)),
      buffer_(kPullBytes, '\0') {}
Unpacker::~Unpacker() = default;

Result<bool> Unpacker::pull_more() {
  const int64_t n = HONE_TRY(pull_(buffer_.data(), kPullBytes));
  in_ = std::string_view(buffer_.data(), static_cast<size_t>(n));
  pulled_ += n;
  return n > 0;
}

Error Unpacker::damaged(const std::string& what) const {
  return Error(err::kPacked, fmt::format("'{}' cannot be unpacked: {}", name_, what))
      .at(fmt::format("byte {} of '{}', {} bytes unpacked",
                      pulled_ - static_cast<int64_t>(in_.size()), name_, out_))
      .todo(fmt::format("get the file again; {} '{}' tests it", kind_of(packing_).test, name_));
}

Result<int64_t> Unpacker::read(char* to, int64_t size) {
  HONE_BUG_IF(size <= 0, "read of {} bytes", size);
  const char* kind = kind_of(packing_).name;
  for (;;) {
    if (refused_)
      return Error(err::kPacked, fmt::format("'{}' cannot be unpacked: {}", name_, why_))
          .todo("unpack it first, and name the file that is meant");
    if (!why_.empty()) return damaged(fmt::format("its {} data are damaged ({})", kind, why_));
    const bool ended = in_.empty() && !HONE_TRY(pull_more());
    if (!inside_) {
      if (ended) return members_ ? Result<int64_t>(0) : damaged("it is empty");
      if (members_ && in_.front() == '\0') {
        in_.remove_prefix(std::min(in_.find_first_not_of('\0'), in_.size()));
        continue;
      }
      if (members_) codec_->next_member();
      inside_ = true;
    }
    char* at = to;
    const UnpackCodec::Did did = codec_->step(in_, at, to + size, why_);
    refused_ = did == UnpackCodec::Did::kRefused;
    inside_ = did != UnpackCodec::Did::kMemberEnd;
    members_ = members_ || !inside_;
    out_ += at - to;
    if (at > to) return at - to;
    if (ended && inside_ && why_.empty())
      return damaged(fmt::format("it is cut off, its {} data do not end", kind));
  }
}

}  // namespace hone
