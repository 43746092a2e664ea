// Members, padding, pieces of every size, and every way to be cut off or damaged.
#include "base/store/unpack.h"

#include <bzlib.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

namespace hone {
namespace {

using ::testing::HasSubstr;

constexpr Packing kAll[] = {Packing::kGzip, Packing::kZstd, Packing::kBzip2, Packing::kXz,
                            Packing::kZip};

std::string deflated(std::string text, int window) {
  std::string out(text.size() + 4096, '\0');
  z_stream s{};
  EXPECT_EQ(deflateInit2(&s, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
  s.next_in = reinterpret_cast<Bytef*>(text.data());
  s.avail_in = static_cast<uInt>(text.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

std::string number(uint64_t value, int bytes) {
  std::string out;
  for (; bytes > 0; --bytes, value >>= 8) out += static_cast<char>(value & 0xFF);
  return out;
}

struct ZipFile {
  std::string name, text;
  int method = 8, flags = 0;
  bool sizes64 = false, mark = true;  // of what follows the data
};
// As Python's zipfile writes it: sizes in front or, with flag 8, after.
std::string zipped(const std::vector<ZipFile>& files) {
  std::string out, table;
  for (const ZipFile& f : files) {
    const std::string data = f.method == 8 ? deflated(f.text, -15) : f.text;
    const auto crc = number(
        crc32(0, reinterpret_cast<const Bytef*>(f.text.data()), static_cast<uInt>(f.text.size())),
        4);
    const int wide = f.sizes64 ? 8 : 4;
    const std::string sizes = number(data.size(), wide) + number(f.text.size(), wide);
    const bool behind = (f.flags & 8) != 0;
    std::string extra;
    if (f.sizes64)
      extra = number(1, 2) + number(16, 2) + number(f.text.size(), 8) + number(data.size(), 8);
    std::string front = crc + (f.sizes64 ? number(~0ull, 8) : sizes);
    if (behind)
      front = std::string(4, '\0') + (f.sizes64 ? number(~0ull, 8) : std::string(8, '\0'));
    const std::string begin = number(45, 2) + number(static_cast<uint64_t>(f.flags), 2) +
                              number(static_cast<uint64_t>(f.method), 2) + number(0, 4);
    const std::string lengths = number(f.name.size(), 2) + number(extra.size(), 2);
    table += "PK\1\2" + number(45, 2) + begin + crc + number(0, 8) + lengths + number(3, 2) +
             std::string(12, '\0') + f.name + extra + "why";
    out += "PK\3\4" + begin + front + lengths + f.name + extra + data;
    if (behind) out += (f.mark ? "PK\7\10" : "") + crc + sizes;
  }
  const std::string end64 = "PK\6\6" + number(4, 8) + "end!" + "PK\6\7" + std::string(16, '\0');
  return out + table + end64 + "PK\5\6" + std::string(16, '\0') + number(5, 2) + "a zip";
}

std::string pack(Packing packing, std::string text) {
  if (packing == Packing::kGzip) return deflated(std::move(text), 15 + 16);
  if (packing == Packing::kZip) return zipped({{"x", std::move(text)}});
  std::string out(text.size() + 4096, '\0');
  size_t size = 0;
  if (packing == Packing::kZstd) {
    auto* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
    ZSTD_freeCCtx(context);
  } else if (packing == Packing::kBzip2) {
    auto n = static_cast<unsigned>(out.size());
    EXPECT_EQ(BZ2_bzBuffToBuffCompress(out.data(), &n, text.data(),
                                       static_cast<unsigned>(text.size()), 1, 0, 0),
              BZ_OK);
    size = n;
  } else {
    EXPECT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, nullptr,
                                      reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                      reinterpret_cast<uint8_t*>(out.data()), &size, out.size()),
              LZMA_OK);
  }
  out.resize(size);
  return out;
}

struct Unpacked {
  std::string text, error;
};
Unpacked unpack(Packing packing, std::string_view packed, int64_t piece_in = 1 << 20,
                int64_t piece_out = 1 << 16) {
  Unpacker unpacker(packing, "x", [&](char* to, int64_t size) -> Result<int64_t> {
    const size_t n = packed.copy(to, static_cast<size_t>(std::min(size, piece_in)));
    packed.remove_prefix(n);
    return static_cast<int64_t>(n);
  });
  Unpacked out;
  std::string buffer(static_cast<size_t>(piece_out), '\0');
  for (;;) {
    Result<int64_t> n = unpacker.read(buffer.data(), piece_out);
    if (!n.ok()) out.error = n.error().text();
    if (!n.ok() || *n == 0) return out;
    out.text.append(buffer, 0, static_cast<size_t>(*n));
  }
}

std::string some_text() {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += fmt::format("line {} of {}\n", i, i * 7919 % 1000);
  return text;
}

TEST(Unpack, EveryKindInPiecesOfEverySize) {
  const std::string text = some_text();
  for (const Packing packing : kAll) {
    const std::string packed = pack(packing, text);
    EXPECT_EQ(packing_of_bytes(packed), packing);
    EXPECT_LT(packed.size(), text.size() / 2);
    for (const auto& [in, out] :
         {std::pair<int64_t, int64_t>{1 << 20, 1 << 16}, {1, 4096}, {777, 1}}) {
      const Unpacked got = unpack(packing, packed, in, out);
      EXPECT_EQ(got.error, "");
      EXPECT_TRUE(got.text == text) << packing_name(packing) << " " << in << " " << out;
    }
  }
}

TEST(Unpack, MembersArePutTogetherAndZerosArePadding) {
  for (const Packing packing : kAll) {
    const std::string packed = pack(packing, "one\n") + pack(packing, "") + std::string(8, '\0') +
                               pack(packing, "two\n") + std::string(512, '\0');
    const Unpacked got = unpack(packing, packed, 3);
    EXPECT_EQ(got.error, "");
    EXPECT_EQ(got.text, "one\ntwo\n");
    EXPECT_EQ(unpack(packing, pack(packing, "")).text, "");
    EXPECT_EQ(unpack(packing, pack(packing, "")).error, "");
  }
}

TEST(Unpack, WhatStandsBeforeTheDamageIsGivenFirst) {
  const std::string text = some_text();
  for (const Packing packing : kAll) {
    const std::string packed = pack(packing, text);
    for (const size_t keep : {size_t{1}, size_t{9}, packed.size() / 2, packed.size() - 1}) {
      const Unpacked got = unpack(packing, packed.substr(0, keep));
      EXPECT_THAT(got.error, HasSubstr(fmt::format("H0116  'x' cannot be unpacked: it is cut off, "
                                                   "its {} data do not end\n  at   byte {} of 'x'",
                                                   packing_name(packing), keep)));
      EXPECT_TRUE(text.starts_with(got.text));
    }
    EXPECT_THAT(unpack(packing, "").error, HasSubstr("it is empty"));
    std::string bad = packed;
    bad[packing == Packing::kZip ? bad.size() / 2
                                 : bad.size() - (packing == Packing::kXz ? 40 : 6)] ^= 0x10;
    EXPECT_THAT(unpack(packing, bad).error, HasSubstr("data are damaged ("));
    const Unpacked tail = unpack(packing, packed + "garbage that is longer than a header");
    EXPECT_TRUE(tail.text == text);
    EXPECT_THAT(tail.error, HasSubstr("data are damaged ("));
  }
}

TEST(Unpack, ZipArchivesOfOneFile) {
  const std::string text = some_text();
  for (const int method : {0, 8})
    for (const bool sizes64 : {false, true}) {
      const ZipFile file{"data/x.csv", text, method, 0, sizes64};
      const Unpacked got = unpack(Packing::kZip, zipped({{"data/", "", 0}, file}), 1000, 100);
      EXPECT_EQ(got.error, "");
      EXPECT_TRUE(got.text == text) << method << sizes64;
    }
  // Written to a pipe: the sizes after the data, with a mark or without.
  for (const bool sizes64 : {false, true})
    for (const bool mark : {false, true}) {
      const Unpacked got = unpack(Packing::kZip, zipped({{"x", text, 8, 8, sizes64, mark}}), 77);
      EXPECT_EQ(got.error, "");
      EXPECT_TRUE(got.text == text) << sizes64 << mark;
    }
  const std::string mac = zipped({{"x.csv", "one\n"}, {"__MACOSX/._x.csv", text}});
  EXPECT_EQ(unpack(Packing::kZip, mac).text, "one\n");
  EXPECT_EQ(unpack(Packing::kZip, mac).error, "");
}

TEST(Unpack, OtherZipArchivesAreRefusedByWhatTheyAre) {
  const auto error = [](const std::vector<ZipFile>& files) {
    return unpack(Packing::kZip, zipped(files)).error;
  };
  EXPECT_EQ(error({{"a.csv", "a"}, {"b.csv", "b"}}),
            "H0116  'x' cannot be unpacked: it holds several files, 'a.csv' and 'b.csv'\n"
            "  do   unpack it first, and name the file that is meant");
  EXPECT_THAT(error({}), HasSubstr("it holds no file"));
  EXPECT_THAT(error({{"data/", "", 0}}), HasSubstr("it holds no file"));
  EXPECT_THAT(error({{"a", "a", 8, 1}}), HasSubstr("it is encrypted"));
  EXPECT_THAT(error({{"a", "a", 12}}), HasSubstr("its method 12 is neither stored nor deflated"));
  EXPECT_THAT(error({{"a", "a", 0, 8}}), HasSubstr("stored without its size in front"));
  std::string wrong = zipped({{"x", "one\n", 0}});
  wrong[31] ^= 1;
  EXPECT_THAT(unpack(Packing::kZip, wrong).error, HasSubstr("data are damaged (its check sum"));
}

TEST(Unpack, KindsByNameAndBytes) {
  EXPECT_EQ(packing_of_name("a/B.CSV.GZ"), Packing::kGzip);
  EXPECT_EQ(packing_of_name("a.zst"), Packing::kZstd);
  EXPECT_EQ(packing_of_name("a.csv.zip"), Packing::kZip);
  EXPECT_EQ(packing_of_name("a.gz/b.csv"), Packing::kNone);
  EXPECT_EQ(packing_of_name(".gz"), Packing::kNone);
  EXPECT_EQ(without_packing("t.jsonl.xz"), "t.jsonl");
  EXPECT_EQ(without_packing("t.jsonl"), "t.jsonl");
  for (const char* text : {"", "BZh", "BZh9 is a text\n", "P*M", "{\"a\":1}"})
    EXPECT_EQ(packing_of_bytes(text), Packing::kNone) << text;
}

}  // namespace
}  // namespace hone
