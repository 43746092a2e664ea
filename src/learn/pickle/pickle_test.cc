#include "learn/pickle/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace hone {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

std::string file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

// The value as text, three levels deep.
std::string show(const PickleValue& v, int depth = 3) {
  if (depth < 0) return "...";
  std::vector<std::string> parts;
  for (int64_t i = 0; i < v.size(); ++i) parts.push_back(show(v[i], depth - 1));
  for (int64_t i = 0; i < v.pairs(); ++i)
    parts.push_back(show(v.key(i), depth - 1) + ": " + show(v.value(i), depth - 1));
  const std::string inside = fmt::format("{}", fmt::join(parts, ", "));
  switch (v.kind()) {
    case PickleKind::none:
      return "None";
    case PickleKind::boolean:
      return v.integer() != 0 ? "True" : "False";
    case PickleKind::integer:
      return fmt::format("{}", v.integer());
    case PickleKind::big:
      return "big";
    case PickleKind::real:
      return fmt::format("{:g}", v.real());
    case PickleKind::text:
      return fmt::format("'{}'", v.text());
    case PickleKind::bytes:
      return "b" + hex(v.text());
    case PickleKind::list:
      return "[" + inside + "]";
    case PickleKind::tuple:
      return "(" + inside + ")";
    case PickleKind::dict:
      return "{" + inside + "}";
    case PickleKind::set:
      return "set(" + inside + ")";
    case PickleKind::global:
      return v.global();
    case PickleKind::object:
      return fmt::format("{}{}<{}; {}>", show(v.callable()), show(v.args(), depth - 1), inside,
                         show(v.state(), depth - 1));
    case PickleKind::persistent:
      return "@" + show(v.args(), depth - 1);
  }
  return "?";
}

std::string read(const std::string& bytes) {
  const auto p = Pickle::read(bytes, "x.pkl");
  return p.ok() ? show(p->root()) : p.error().text();
}

class Protocol : public testing::TestWithParam<int> {};

TEST_P(Protocol, GivesTheSameTree) {
  const std::string bytes =
      file(fmt::format("{}/tests/goldens/pickle/protocol{}.pkl", HONE_SOURCE_DIR, GetParam()));
  ASSERT_FALSE(bytes.empty());
  const auto p = Pickle::read(bytes, "x.pkl");
  ASSERT_TRUE(p.ok()) << p.error().text();
  EXPECT_EQ(p->bytes(), static_cast<int64_t>(bytes.size()));
  const PickleValue v = p->root();
  EXPECT_EQ(show(v.find("none")), "None");
  // Protocols 0 and 1 have no opcodes for these.
  EXPECT_EQ(show(v.find("flags")), "(True, False)");
  EXPECT_EQ(show(v.find("ints")),
            "[0, 255, 256, 65536, -1, 2147483648, -2147483648, 4611686018427387904, "
            "-9223372036854775808, big, big]");
  EXPECT_EQ(show(v.find("floats")), "[0.5, -1e+300, inf]");
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(show(v.find("bytes")), "[b, b00ff80270a, b" + hex(all) + "]");
  EXPECT_EQ(show(v.find("bytearray")), "[b, b6162fe]");
  EXPECT_EQ(show(v.find("shared")[0]), "['a', 'é', '\U0001f600 \\u0041\n', '']");
  EXPECT_EQ(v.find("shared")[0].id(), v.find("shared")[1].id());
  EXPECT_EQ(v.find("shared")[2].kind(), PickleKind::tuple);
  EXPECT_EQ(v.find("long").text(), std::string(300, 'x'));
  EXPECT_TRUE(v.find("ordered").callable().is_global("collections.OrderedDict"));
  EXPECT_THAT(show(v.find("ordered")), HasSubstr("'k': 1, 2: 'v'"));
  EXPECT_THAT(show(v.find("class")), testing::EndsWith(".complex"));
  EXPECT_THAT(show(v.find("call")), HasSubstr(".complex(1, -2)"));
  // Every cut is found, and only as a cut.
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto cut = Pickle::read(std::string_view(bytes).substr(0, n), "x.pkl");
    ASSERT_FALSE(cut.ok()) << n;
    EXPECT_STREQ(cut.error().code(), "H2702") << n;
  }
}
INSTANTIATE_TEST_SUITE_P(All, Protocol, testing::Range(0, 6));

TEST(Pickle, NamesAreOnlyNames) {
  EXPECT_EQ(read("cos\nsystem\n(S'rm -rf ~'\ntR."), "os.system('rm -rf ~')<; None>");
  EXPECT_EQ(read("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R."),
            "os.system('ls')<; None>");
  EXPECT_EQ(read("(S'a'\nios\nsystem\n."), "os.system('a')<; None>");
  EXPECT_EQ(read("(cos\nsystem\nK\x01o."), "os.system(1)<; None>");
  EXPECT_EQ(read("\x80\x02(K\x01K\x02u."),
            "H2701  'x.pkl' is not a whole pickle: an opcode needs a "
            "value and the stack is empty\n  at   byte 7\n  do   get "
            "the file again from its source, or save it again");
  EXPECT_EQ(read("\x80\x02"
                 "c__m\nC\n)\x81}X\x01\0\0\0xK\x07sb."s),
            "__m.C()<; {'x': 7}>");
  EXPECT_EQ(read("Pouter\n."), "@'outer'");
}

TEST(Pickle, ValuesMayHoldThemselves) { EXPECT_EQ(read("]q\0h\0a."s), "[[[[...]]]]"); }

TEST(Pickle, ErrorsNameTheByte) {
  EXPECT_THAT(read("\x80\x09."), HasSubstr("H2701  'x.pkl' is not a whole pickle: protocol 9"));
  EXPECT_THAT(read("hello"), HasSubstr("H2701"));
  EXPECT_THAT(read("\x80\x02\xff"), HasSubstr("0xff is not an opcode\n  at   byte 2"));
  EXPECT_THAT(read("h\x03."), HasSubstr("memo entry 3 was never set"));
  EXPECT_THAT(read("K\x01K\x02s."), HasSubstr("stack is empty"));
  EXPECT_THAT(read("NK\x02"
                   "a."),
              HasSubstr("something that holds none"));
  EXPECT_THAT(read("\x8b\xff\xff\xff\xff."), HasSubstr("a length is -1"));
  EXPECT_THAT(read("\x97."), HasSubstr("its buffers in another place"));
  EXPECT_THAT(read(""), HasSubstr("H2702"));
}

TEST(Pickle, BombsMeetALimit) {
  // A memo entry far away; a tower of empty lists; one text decoded again and again.
  EXPECT_THAT(read("Nr\xff\xff\xff\x7f."), HasSubstr("H2704  'x.pkl' refers to memo entry"));
  EXPECT_THAT(read(std::string(6'500'000, ']')), HasSubstr("H2704"));
  const std::string length("\x40\x42\x0f\0", 4);
  std::string again = "X" + length + std::string(1'000'000, 'a') + "q\1c_codecs\nencode\nq\2X" +
                      std::string("\6\0\0\0", 4) + "latin1q\3";
  for (int i = 0; i < 1000; ++i) again += "h\2h\1h\3\x86R0";
  EXPECT_THAT(read(again + "N."), HasSubstr("H2704"));
  // Lists of lists of lists: small in memory, however often it is shared.
  std::string laughs = "]q\0"s;
  for (char i = 0; i < 40; ++i)
    laughs += "](h"s + i + "h"s + i + "h"s + i + "eq" + static_cast<char>(i + 1);
  EXPECT_EQ(read(laughs + ".").substr(0, 8), "[[[[...,");
}

}  // namespace
}  // namespace hone
