#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <thread>

#include "base/core/errors.h"
#include "base/core/held_stop.h"
#include "base/core/json.h"
#include "base/core/json_members.h"
#include "base/core/log.h"
#include "base/core/memory.h"
#include "base/core/process.h"
#include "base/core/quiet_thread.h"
#include "base/core/signals.h"
#include "base/core/text.h"

namespace hone {
namespace {

std::string json_error(std::string_view text) {
  Result<Json> r = parse_json(text, "a.json");
  return r.ok() ? "" : r.error().what();
}

TEST(Json, ReadsWhatPythonWrites) {
  Json j = *parse_json(
      "\xEF\xBB\xBF{\"a\": [1, -2.5, 1e-5, NaN, -Infinity], \"b\": "
      "\"\\u00e9\\ud83d\\ude00\\ud800x\", \"a2\": 18446744073709551615, \"big\": "
      "1000000000000000019884624838656}",
      "x");
  EXPECT_EQ(j["a"][0], 1);
  EXPECT_EQ(j["a"][2].get<double>(), 1e-5);
  EXPECT_TRUE(std::isnan(j["a"][3].get<double>()));
  EXPECT_EQ(j["b"], "\xC3\xA9\xF0\x9F\x98\x80\xEF\xBF\xBDx");
  EXPECT_EQ(j["a2"].get<uint64_t>(), 18446744073709551615u);
  EXPECT_EQ(j["big"].get<double>(), 1e30);
  EXPECT_EQ(*parse_json("{\"k\":1,\"k\":2}", "x"), Json({{"k", 2}}));
  EXPECT_EQ(dump_json(*parse_ordered_json("{\"b\":1,\"a\":[]}", "x")), "{\"b\": 1, \"a\": []}");
}

// 200,000 keys in one object, in the order that helps a search least: few comparisons for each.
TEST(Json, ManyKeysOfOneObjectCostLittleEach) {
  constexpr int64_t kKeys = 200'000;
  const auto key_of = [](int64_t i) { return fmt::format("key{}", (i * 7919) % kKeys); };
  OrderedJson object = OrderedJson::object();
  OrderedMembers<OrderedJson> members(object);
  for (int64_t i = 0; i < kKeys; ++i) members[key_of(i)] = i;
  members[key_of(5)] = "again";
  EXPECT_LT(members.compared(), kKeys * 64);
  ASSERT_EQ(object.size(), static_cast<size_t>(kKeys));
  std::string text = "{";
  for (int64_t i = 0; i < kKeys; ++i) text += fmt::format("\"{}\": {}, ", key_of(i), i);
  text += fmt::format("\"{}\": \"again\"}}", key_of(5));
  EXPECT_EQ(*parse_ordered_json(text, "x"), object);
  OrderedJson value;
  const auto twice = parse_json(text, {.unique_keys = true}, value);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->what, fmt::format("the key '{}' appears twice in one object", key_of(5)));
}

TEST(Error, TheCodeSaysWhetherTheSameAgainMaySucceed) {
  const ErrorCode lasting{"H1", "a"}, transient{"H2", "b", ErrorCode::transient},
      unanswered{"H3", "c", ErrorCode::unanswered};
  EXPECT_FALSE(Error(lasting, "").is_transient());
  EXPECT_TRUE(Error(lasting, "").is_answer());
  EXPECT_TRUE(Error(transient, "").is_transient());
  EXPECT_FALSE(Error(transient, "").is_answer());
  EXPECT_FALSE(Error(unanswered, "").is_transient());
  EXPECT_FALSE(Error(unanswered, "").is_answer());
  EXPECT_TRUE(Error(lasting, "").is(ErrorCode{"H1", "the same code with another title"}));
  EXPECT_FALSE(Error(lasting, "").is(transient));
}

TEST(Json, ErrorsNameThePlace) {
  EXPECT_EQ(json_error("{\n  \"a\": 1,\n}"), "a.json:3:1: a key in double quotes should be here");
  EXPECT_EQ(json_error("[1 2]"), "a.json:1:4: ',' or ']' should follow a value");
  EXPECT_EQ(json_error("{\"a\": 'x'}").substr(0, 12), "a.json:1:7: ");
  EXPECT_EQ(json_error("[1]]"), "a.json:1:4: more text after the end of the value");
  EXPECT_EQ(json_error("\"abc"), "a.json:1:1: this text has no closing '\"'");
  for (const char* bad : {"", "[", "{", "[1,", "tru", "01", "-", "1.", "1e", "\"\\x\"", "\"\\u12\"",
                          "\"\n\"", "\"\xff\"", "{\"a\"}", "nan"}) {
    EXPECT_NE(json_error(bad), "") << bad;
  }
  std::string deep(100000, '[');
  Result<Json> r = parse_json(deep, "a.json");
  ASSERT_FALSE(r.ok());
  EXPECT_STREQ(r.error().code(), "H0002");
}

TEST(Json, AnEmptyTextIsCalledEmpty) {
  for (const char* text : {"", " \n\n", "\xEF\xBB\xBF\t"}) {
    const Error e = parse_json(text, "a.json").error();
    EXPECT_EQ(e.text(),
              "H0001  a.json:1:1: the file is empty\n"
              "  do   write JSON there; if it is a copy, copy it again");
  }
  EXPECT_EQ(parse_json("", "--x").error().what(), "--x:1:1: the text is empty");
  EXPECT_EQ(json_error("{\"a\": "), "a.json:1:7: the text ends where a value should be");
}

TEST(Json, StrictTextsHoldWhatTheStandardAllows) {
  const auto fault = [](std::string_view text, JsonRules rules) {
    Json value;
    const auto f = parse_json(text, rules, value);
    return f ? fmt::format("{}:{} {}", f->place.line, f->place.column, f->what) : "";
  };
  for (const char* loose : {"NaN", "[Infinity]", "-Infinity", "1e400", "\"\\ud800x\"",
                            "\"\\udc00\"", "\"\\ud800\\u0041\""}) {
    EXPECT_EQ(fault(loose, {}), "") << loose;
    EXPECT_NE(fault(loose, {.strict = true}), "") << loose;
  }
  EXPECT_EQ(fault("[1e-400, -1e308, 18446744073709551616, \"\\ud83d\\ude00\"]", {.strict = true}),
            "");
  EXPECT_EQ(fault("{\"a\": {\"k\": 1}, \"k\": 2}", {.unique_keys = true}), "");
  EXPECT_EQ(fault("{\"k\": 1,\n \"k\": 2}", {.unique_keys = true}),
            "2:2 the key 'k' appears twice in one object");
  EXPECT_EQ(fault("[[1]]", {.max_depth = 2}), "");
  EXPECT_EQ(fault("[[[1]]]", {.max_depth = 2}), "1:3 more than 2 levels of nesting");
}

TEST(Json, PlacesOfValues) {
  JsonPlaces places;
  ASSERT_TRUE(parse_json("{\n \"a\": {\"b\": 1},\n \"c\": [2,\n3],\n\"a\": 4}", "x", &places).ok());
  EXPECT_EQ(places.find("/a/b")->second.line, 2);
  EXPECT_EQ(places.find("/c/1")->second.line, 4);
  EXPECT_EQ(places.find("/c/1")->second.column, 1);
  EXPECT_EQ(places.count("/a"), 2);
  EXPECT_EQ(std::next(places.find("/a"))->second.line, 5);
}

TEST(Json, WritesAsPython) {
  EXPECT_EQ(double_text(5e-5), "5e-05");
  EXPECT_EQ(double_text(1), "1.0");
  EXPECT_EQ(double_text(0.1), "0.1");
  EXPECT_EQ(double_text(1e16), "1e+16");
  EXPECT_EQ(double_text(123456789012345.0), "123456789012345.0");
  EXPECT_EQ(double_text(0.0001), "0.0001");
  Json j = {{"z", 1.0}, {"a", {1, "é\n\x01", nullptr, true}}};
  EXPECT_EQ(dump_json(j), "{\"a\": [1, \"é\\n\\u0001\", null, true], \"z\": 1.0}");
  EXPECT_EQ(dump_json(Json("é😀"), {.indent = 2, .ascii = true}), "\"\\u00e9\\ud83d\\ude00\"");
  EXPECT_EQ(dump_json(Json("a\xff")), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(
      dump_json(j, {.indent = 2}),
      "{\n  \"a\": [\n    1,\n    \"é\\n\\u0001\",\n    null,\n    true\n  ],\n  \"z\": 1.0\n}");
}

TEST(Json, MissingFile) {
  Result<Json> r = read_json_file("/nonexistent/x.json");
  ASSERT_FALSE(r.ok());
  EXPECT_STREQ(r.error().code(), "H0003");
  EXPECT_EQ(r.error().what(), "cannot read '/nonexistent/x.json': No such file or directory");
}

TEST(Text, Helpers) {
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(int64_t{16} << 30), "16.0 GiB");
  EXPECT_EQ(format_bytes((int64_t{1} << 30) - 1), "1.0 GiB");
  EXPECT_EQ(format_duration(185), "3m05s");
  EXPECT_EQ(format_duration(7620), "2h07m");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(utf8_prefix("aé", 2), "a");
  EXPECT_EQ(utf8_length("\xED\xA0\x80"), 0);  // a surrogate
  EXPECT_EQ(utf8_length("\xC0\x80"), 0);      // overlong
  EXPECT_EQ(format_utc(0), "1970-01-01T00:00:00Z");
}

struct CapturedLog {
  std::string text;
  CapturedLog() {
    set_log_sink([this](std::string_view t) { text += t; });
  }
  ~CapturedLog() { set_log_sink({}); }
};

TEST(Log, LevelsAndLines) {
  CapturedLog log;
  log_info("read {} rows", 3);
  log_warning("slow");
  log_debug("hidden");
  EXPECT_EQ(log.text, "read 3 rows\nwarning: slow\n");
}

TEST(Log, AQuietThreadKeepsItsErrorsAlone) {
  CapturedLog log;
  std::thread other([] {
    const QuietThread quiet;
    log_warning("of rank 1");
    log_error("of rank 1 too");
  });
  other.join();
  log_info("of rank 0");
  EXPECT_EQ(log.text, "error: of rank 1 too\nof rank 0\n");
}

TEST(Log, JsonLinesHaveLabelsAndListenersHear) {
  std::string all, heard;
  set_log_sink([&](std::string_view text) { all += text; });
  set_log_listener([&](const LogRecord& r) { heard += r.message; });
  set_log_format(LogFormat::kJson);
  set_log_labels({{"run", "r1"}});
  set_log_step(12);
  log_warning("a \"quoted\" one");
  log_info("two");
  set_log_format(LogFormat::kText);
  set_log_listener({});
  set_log_labels({});
  set_log_step(-1);
  log_info("three");
  set_log_sink({});
  EXPECT_EQ(heard, "a \"quoted\" onetwo");
  const std::vector<std::string> lines = split(all, '\n');
  ASSERT_EQ(lines.size(), 4u);
  const Json one = parse_json(lines[0], "line").value();
  const LogRecord record{LogLevel::kInfo, 1, -1, "two", "\"loss\": 2.5"};
  const Json two = parse_json(log_json(record, {}), "line").value();
  EXPECT_EQ(one["severity"], "WARNING");
  EXPECT_EQ(one["message"], "a \"quoted\" one");
  EXPECT_EQ(one["logging.googleapis.com/labels"], (Json{{"run", "r1"}, {"step", "12"}}));
  EXPECT_EQ(one["time"].get<std::string>().size(), 27u);  // microseconds
  EXPECT_EQ(two["loss"], 2.5);
  EXPECT_EQ(lines[2], "three");
  EXPECT_EQ(format_utc(1.25, 3), "1970-01-01T00:00:01.250Z");
}

TEST(Log, ProgressIsPlainLinesOffATerminal) {
  CapturedLog log;
  FakeClock clock;
  {
    Progress bar("training", 100, {.clock = &clock, .force_terminal = 0});
    for (int i = 1; i <= 100; ++i) {
      clock.advance(0.25);
      bar.update(i, "loss 1.5");
    }
  }
  EXPECT_EQ(log.text,
            "training 40/100 40% 10s left 15s  loss 1.5\n"
            "training 80/100 80% 20s left 5s  loss 1.5\n"
            "training 100/100 100% 25s  loss 1.5\n");
}

TEST(Log, ProgressRedrawsInPlaceOnATerminal) {
  CapturedLog log;
  FakeClock clock;
  Progress bar("get", 4, {.clock = &clock, .force_terminal = 1});
  bar.update(1);
  bar.update(2);  // drawn with the next line
  log_info("note");
  clock.advance(1);
  bar.update(3);
  bar.finish();
  EXPECT_EQ(log.text,
            "\r\x1b[Kget [#####...............] 1/4 25% 0s left 0s"
            "\r\x1b[Knote\nget [##########..........] 2/4 50% 0s left 0s"
            "\r\x1b[Kget [###############.....] 3/4 75% 1s left 0s"
            "\r\x1b[Kget [###############.....] 3/4 75% 1s left 0s\n");
}

TEST(Process, RunsPrograms) {
  CommandOutput r = *run_command({"sh", "-c", "cat; echo oops >&2; exit 3"}, {.input = "hello"});
  EXPECT_EQ(r.status, 3);
  EXPECT_EQ(r.out, "hello");
  EXPECT_EQ(r.err, "oops\n");
  std::string big(1 << 20, 'x');
  EXPECT_EQ(run_command({"cat"}, {.input = big})->out, big);
  EXPECT_EQ(run_command({"sh", "-c", "echo $A"}, {.environment = {{"A", "b"}}})->out, "b\n");
  EXPECT_TRUE(run_command({"sleep", "10"}, {.timeout_seconds = 0.05})->timed_out);
  Result<CommandOutput> none = run_command({"no-such-program-xyz"});
  ASSERT_FALSE(none.ok());
  EXPECT_STREQ(none.error().code(), "H0004");
}

// Rule 23 of ranks: a signal counts when all of them know of it.
TEST(Process, AHeldStopWaitsUntilItIsRequested) {
  install_stop_handlers();
  {
    const HeldStops held;
    ::raise(SIGTERM);
    EXPECT_EQ(HeldStops::waiting(), SIGTERM);
    EXPECT_FALSE(stop_requested());
    request_stop(SIGTERM);
    EXPECT_TRUE(stop_requested());
    request_stop(0);
  }
  EXPECT_EQ(stop_signal(), SIGTERM);  // it still waited
  EXPECT_EQ(HeldStops::waiting(), 0);
  request_stop(0);
}

// Ranks that are threads hold it together.
TEST(Process, AHeldStopWaitsForTheLastThatHoldsIt) {
  install_stop_handlers();
  auto first = std::make_optional<HeldStops>();
  {
    const HeldStops second;
    first.reset();
    ::raise(SIGTERM);
    EXPECT_EQ(HeldStops::waiting(), SIGTERM);
    EXPECT_FALSE(stop_requested());
  }
  EXPECT_EQ(stop_signal(), SIGTERM);
  request_stop(0);
}

TEST(Process, SignalsSetAFlag) {
  install_stop_handlers();
  EXPECT_FALSE(stop_requested());
  ::raise(SIGTERM);
  EXPECT_TRUE(stop_requested());
  EXPECT_EQ(stop_signal(), SIGTERM);
  wait_for_stop();
  request_stop(0);
  std::thread waiting(wait_for_stop), other(wait_for_stop);
  ::kill(::getpid(), SIGTERM);
  waiting.join();
  other.join();
  request_stop(0);
  EXPECT_EXIT(
      {
        ::raise(SIGINT);
        ::raise(SIGINT);
      },
      ::testing::ExitedWithCode(130), "interrupted twice");
}

TEST(Process, MemoryReadings) {
  MemoryReading before = read_memory();
  EXPECT_GT(before.total_bytes, before.available_bytes);
  EXPECT_GT(before.rss_anon_bytes, 0);
  EXPECT_GT(before.usable_bytes(), 0);
  std::vector<char> block(64 << 20, 1);
  EXPECT_GE(read_memory().rss_anon_bytes - before.rss_anon_bytes, int64_t{60} << 20);
}

}  // namespace
}  // namespace hone
