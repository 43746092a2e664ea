// A served model through requests, and the parts of the server that need no model.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "engine/backends/tested_backends_test.h"
#include "operate/serve/chat_request.h"
#include "operate/serve/errors.h"
#include "operate/serve/loader.h"
#include "operate/serve/model_set.h"
#include "operate/serve/stop_cutter.h"
#include "operate/serve/tensors.h"

namespace hone {
namespace {

const std::string kTiny = std::string(HONE_SOURCE_DIR) + "/tests/goldens/tiny_text_gpt2";

// Models are unloaded on threads of their own; the program must not end before.
class UnloadsEnd : public testing::Environment {
 public:
  void TearDown() override { wait_for_unloads(); }
};
const auto* const kUnloadsEnd = testing::AddGlobalTestEnvironment(new UnloadsEnd);

std::shared_ptr<const Json> shared(Json settings) {
  return std::make_shared<const Json>(std::move(settings));
}

// A minute is more than any of these takes.
template <class F>
bool until(F condition) {
  for (int i = 0; i < 30000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return condition();
}

std::shared_ptr<ServedModel> tiny(int64_t waiting = 256, const std::string& version = "1") {
  ServedOptions o;
  o.batch_size = 2;
  o.max_length = 48;
  o.threads = 1;
  o.engine.most_waiting = waiting;
  return *ServedModel::load("tiny", version, kTiny, o);
}

std::string answer_of(ServedModel& model) {
  std::promise<Result<TextAnswer>> promise;
  const auto asked =
      model.ask({.text = "Hello, world", .settings = shared({{"max_new_tokens", 6}})}, nullptr,
                [&](Result<TextAnswer> a) { promise.set_value(std::move(a)); });
  if (!asked.ok()) return asked.error().text();
  const Result<TextAnswer> a = promise.get_future().get();
  return a.ok() ? a->texts[0].text : a.error().text();
}

// The thread that computes is not the one that opened the device, nor the one that closes it.
TEST(ServedModelTest, AnswersTheSameOnEachDevice) {
#ifdef __SANITIZE_ADDRESS__
  const std::vector<std::string> usual = {
      "far"};  // emulated threads are tried under it in engine/backends
#else
  const std::vector<std::string> usual = {"far", "cuda_emulated"};
#endif
  const std::string wanted = answer_of(*tiny());
  for (const std::string& device : tested_backends(usual)) {
    ServedOptions o;
    o.batch_size = 2;
    o.max_length = 32;
    o.threads = 1;
    o.device = device;
    const auto model = ServedModel::load("tiny", "1", kTiny, o);
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ(answer_of(**model), wanted) << device;
  }
  wait_for_unloads();
}

TEST(ServedModelTest, RefusesWhatWaitsTooLongOrIsTooMuch) {
  const auto model = tiny(3);
  std::vector<std::future<Result<TextAnswer>>> all;
  int refused = 0;
  for (int i = 0; i < 30; ++i) {
    auto promise = std::make_shared<std::promise<Result<TextAnswer>>>();
    auto future = promise->get_future();
    const auto ticket =
        model->ask({.text = "Hello, world", .settings = shared({{"max_new_tokens", 30}})}, nullptr,
                   [promise](Result<TextAnswer> a) { promise->set_value(std::move(a)); });
    if (ticket.ok()) {
      all.push_back(std::move(future));
    } else {
      EXPECT_EQ(std::string(ticket.error().code()), err::kServeBusy.id);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  for (auto& f : all) {
    const auto a = f.get();
    ASSERT_TRUE(a.ok()) << a.error().text();
    EXPECT_EQ(a->texts[0].tokens.size(), 30u);
  }
  std::promise<std::string> late;
  TextQuery q{.text = "Hello, world", .settings = shared({{"max_new_tokens", 30}})};
  q.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  ASSERT_TRUE(model
                  ->ask(std::move(q), nullptr,
                        [&](Result<TextAnswer> a) { late.set_value(a.error().code()); })
                  .ok());
  EXPECT_EQ(late.get_future().get(), err::kServeLate.id);
  EXPECT_EQ(
      std::string(model->ask({.text = "Hello", .settings = shared({{"num_beams", 5}})}, nullptr, {})
                      .error()
                      .code()),
      err::kServeTooLarge.id);
}

// The last holder of a model may be a request that the model itself ends.
TEST(ServedModelTest, IsUnloadedByItsLastRequest) {
  std::promise<bool> done;
  std::weak_ptr<ServedModel> weak;
  {
    auto model = tiny();
    weak = model;
    ASSERT_TRUE(model
                    ->ask({.text = "Hello, world", .settings = shared({{"max_new_tokens", 30}})},
                          nullptr, [model, &done](Result<TextAnswer> a) { done.set_value(a.ok()); })
                    .ok());
  }
  EXPECT_TRUE(done.get_future().get());
  wait_for_unloads();
  for (int i = 0; i < 1000 && !weak.expired(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(weak.expired());
}

TEST(ServedModelTest, EndsWhatItHasWhenItIsStopped) {
  const auto model = tiny();
  std::promise<std::string> running, waiting;
  std::promise<void> begun;
  const auto code_to = [](std::promise<std::string>& to) {
    return [&to](Result<TextAnswer> a) { to.set_value(a.ok() ? "" : a.error().code()); };
  };
  const auto settings =
      shared({{"max_new_tokens", 40}, {"num_return_sequences", 2}, {"do_sample", true}});
  ASSERT_TRUE(model
                  ->ask(
                      {.text = "Hello", .settings = settings},
                      [&, first = true](size_t, const std::string&) mutable {
                        if (std::exchange(first, false)) model->stop();
                      },
                      code_to(running))
                  .ok());
  const auto second =
      model->ask({.text = "Hello", .settings = settings}, nullptr, code_to(waiting));
  EXPECT_EQ(running.get_future().get(), err::kServeEnds.id);
  if (second.ok()) EXPECT_EQ(waiting.get_future().get(), err::kServeEnds.id);
  EXPECT_EQ(std::string(model->ask({.text = "a"}, nullptr, {}).error().code()), err::kServeEnds.id);
}

// A callback that waits is a step that takes long.
TEST(ServedModelTest, JoinsWhenItsLastStepIsDone) {
  const auto model = tiny();
  std::promise<void> begun, goes;
  std::shared_future<void> go = goes.get_future().share();
  std::atomic_flag first;
  std::atomic<int> told = 0;
  const auto count = [&](Result<TextAnswer> a) {
    EXPECT_EQ(std::string(a.error().code()), err::kServeEnds.id);
    ++told;
  };
  const auto settings = shared({{"max_new_tokens", 40}});
  const auto slow = [&](size_t, const std::string&) {
    if (first.test_and_set()) return;
    begun.set_value();
    go.wait();
  };
  ASSERT_TRUE(model->ask({.text = "Hello", .settings = settings}, slow, count).ok());
  begun.get_future().wait();
  ASSERT_TRUE(model->ask({.text = "Hello", .settings = settings}, nullptr, count).ok());
  std::thread one([&] { model->join(); }), other([&] { model->join(); });
  EXPECT_TRUE(until([&] {
    const auto r = model->ask({.text = "a"}, nullptr, count);
    return !r.ok() && std::string(r.error().code()) == err::kServeEnds.id;
  }));
  EXPECT_EQ(told, 0);
  goes.set_value();
  one.join();
  other.join();
  EXPECT_GE(told, 2);
  model->join();
  const auto rows = *ServedModel::load(
      "bert", "1", std::string(HONE_SOURCE_DIR) + "/tests/goldens/classification/bert",
      {.threads = 1});
  rows->join();
  rows->join();
  EXPECT_EQ(std::string(rows->ask({.text = "a"}, nullptr, {}).error().code()), err::kServeEnds.id);
}

// The largest number is a length like another.
TEST(ServedModelTest, WritesToTheEndWhenTheLengthIsTheLargestNumber) {
  GenerationConfig c;
  c.max_new_tokens = INT64_MAX;
  EXPECT_EQ(c.end_length(3, 48), 48);
  EXPECT_EQ(c.end_length(3, INT64_MAX), INT64_MAX);
  const auto model = tiny();
  std::promise<size_t> tokens;
  const auto write = [&](Result<TextAnswer> a) {
    tokens.set_value(static_cast<size_t>(a->prompt_tokens) + a->texts[0].tokens.size());
  };
  const auto ask = [&](const char* key) {
    return model->ask({.text = "Hello, world", .settings = shared({{key, INT64_MAX}})}, nullptr,
                      write);
  };
  ASSERT_TRUE(ask("max_new_tokens").ok());
  EXPECT_EQ(tokens.get_future().get(), 48u);
  EXPECT_NE(ask("min_new_tokens").error().what().find("min_new_tokens"), std::string::npos);
}

TEST(Loader, LoadsOneAfterAnotherAndRefusesAtItsEnd) {
  Loader loader;
  std::promise<void> begun, goes;
  std::vector<std::string> codes;  // of the loader's thread until stop() returns
  const auto note = [&](const Status& s) { codes.emplace_back(s.ok() ? "" : s.error().code()); };
  const auto add = [&](Loader::Load load) {
    const Status s = loader.add(std::move(load), note);
    return std::string(s.ok() ? "" : s.error().code());
  };
  const auto quick = [] { return Status(Ok{}); };
  EXPECT_EQ(add([&] {
              begun.set_value();
              goes.get_future().wait();
              return Status(Ok{});
            }),
            "");
  begun.get_future().wait();
  for (size_t i = 0; i < Loader::kMostWaiting; ++i) EXPECT_EQ(add(quick), "");
  EXPECT_EQ(add(quick), err::kServeBusy.id);
  std::thread ender([&] { loader.stop(); });
  EXPECT_TRUE(until([&] { return add(quick) == err::kServeEnds.id; }));
  goes.set_value();
  ender.join();
  ASSERT_EQ(codes.size(), Loader::kMostWaiting + 1);
  EXPECT_EQ(codes[0], "");
  for (size_t i = 1; i < codes.size(); ++i) EXPECT_EQ(codes[i], err::kServeEnds.id);
}

TEST(Loader, LoadsOnAfterABug) {
  Loader loader;
  std::promise<bool> done;
  ASSERT_TRUE(loader
                  .add([]() -> Status { throw std::runtime_error("a bug"); },
                       [](const Status&) { ADD_FAILURE() << "it was not loaded"; })
                  .ok());
  ASSERT_TRUE(
      loader.add([] { return Ok{}; }, [&](const Status& s) { done.set_value(s.ok()); }).ok());
  EXPECT_TRUE(done.get_future().get());
}

TEST(ServedModelTest, RefusesModelsThatAreNotServed) {
  const std::string tags = std::string(HONE_SOURCE_DIR) + "/tests/goldens/ner/bert";
  EXPECT_EQ(std::string(ServedModel::load("tags", "1", tags, {}).error().code()),
            err::kServeModel.id);
}

TEST(ModelSet, SharesRequestsAndRemovesVersions) {
  ModelSet set;
  EXPECT_EQ(std::string(set.find("tiny").error().code()), err::kServeNoModel.id);
  set.add(tiny(256, "1"));
  set.add(tiny(256, "2"));
  for (int i = 0; i < 100; ++i) EXPECT_EQ((*set.find("tiny"))->version(), "1");
  EXPECT_EQ(std::string(set.set_traffic("tiny", {{"1", 90}, {"2", 9}}).error().code()),
            err::kServeFlag.id);
  ASSERT_TRUE(set.set_traffic("tiny", {{"1", 75}, {"2", 25}}).ok());
  int second = 0;
  for (int i = 0; i < 100; ++i) {
    second += (*set.find(""))->version() == "2";
    EXPECT_EQ((*set.look_up("tiny"))->version(), "1") << "counts as no request";
  }
  EXPECT_EQ(second, 25);
  EXPECT_FALSE(set.remove("tiny", "2").ok());
  ASSERT_TRUE(set.set_traffic("tiny", {{"2", 100}}).ok());
  EXPECT_TRUE(set.remove("tiny", "1").ok());
  EXPECT_EQ((*set.find("tiny"))->version(), "2");
  EXPECT_TRUE(set.remove("tiny").ok());
  EXPECT_TRUE(set.all().empty());
  wait_for_unloads();
}

TEST(ModelSet, KnowsThoseThatLeftAndStillLive) {
  ModelSet set;
  set.add(tiny(256, "1"));
  const ModelSet::Model held = *set.find("tiny");
  set.add(tiny(256, "1"));  // takes its place
  EXPECT_EQ(set.all().size(), 1u);
  EXPECT_EQ(set.living().size(), 2u);
  ModelSet::Model second = *set.find("tiny");
  set.add(tiny(256, "2"));
  ASSERT_TRUE(set.set_traffic("tiny", {{"2", 100}}).ok());
  ASSERT_TRUE(set.remove("tiny", "1").ok());
  EXPECT_EQ(set.living().size(), 3u);
  second = nullptr;
  EXPECT_EQ(set.living().size(), 2u);
  ASSERT_TRUE(set.remove("tiny").ok());
  EXPECT_EQ(set.living(), std::vector{held});
}

TEST(ModelSet, NewerIsTheLargerNumber) {
  EXPECT_TRUE(is_newer("10", "9"));
  EXPECT_FALSE(is_newer("9", "10"));
  EXPECT_FALSE(is_newer("2", "2"));
  EXPECT_FALSE(is_newer("b", "a"));
  EXPECT_FALSE(is_newer("3", ""));
}

StopCutter cutter(std::vector<std::string> stops) {
  return StopCutter(std::make_shared<const std::vector<std::string>>(std::move(stops)));
}

TEST(StopCutter, LeavesOutTheStopTextInAnyPieces) {
  const std::string text = "one STOP two";
  for (size_t a = 0; a <= text.size(); ++a) {
    StopCutter c = cutter({"STOP", "zzz"});
    std::string seen = c.push(text.substr(0, a));
    seen += c.push(text.substr(a));
    seen += c.finish();
    EXPECT_EQ(seen, "one ") << a;
    EXPECT_TRUE(c.stopped());
  }
  StopCutter c = cutter({"STOP"});
  EXPECT_EQ(c.push("one ST"), "one ");
  EXPECT_EQ(c.finish(), "ST");
}

OrderedJson ordered(const std::string& text) { return parse_ordered_json(text, "test").value(); }

// The same variables as vLLM and Transformers give to templates.
TEST(ChatRequest, BecomesTheVariablesOfATemplate) {
  TokenizerParts tokens;
  tokens.bos = "<s>";
  const auto chat = [](const char* source) { return ChatTemplate::parse(source).value(); };
  const auto text = [&](const char* source, const char* body) {
    const Result<std::string> made = chat_text(ordered(body), chat(source), tokens);
    return made.ok() ? *made : made.error().text();
  };
  constexpr const char* kPlain =
      "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if "
      "add_generation_prompt %}<assistant>{% endif %}";
  EXPECT_EQ(
      text(
          kPlain,
          R"({"messages": [{"role": "developer", "content": "S"}, {"role": "user", "content": "U"}]})"),
      "<s><system>S<user>U<assistant>");
  EXPECT_EQ(text(kPlain, R"({"add_generation_prompt": false, "messages": [
                   {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]})"),
            "<s><user>a\nb");
  EXPECT_EQ(
      text(
          "{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}",
          R"({"messages": [{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "text", "text": "y"}]}]})"),
      "[x][y]");
  EXPECT_EQ(
      text("{{ tools | tojson }}{{ messages[1].tool_calls[0].function.arguments.z }}{{ "
           "messages[1].content is defined }}",
           R"({"tools": [{"type": "function", "b": 1, "a": 2}], "tool_choice": "auto", "messages": [
                     {"role": "user", "content": "x"}, {"role": "assistant", "content": null, "tool_calls": [
                       {"type": "function", "function": {"name": "f", "arguments": "{\"z\": 5}"}}]}]})"),
      R"([{"type": "function", "b": 1, "a": 2}]5False)");
  EXPECT_EQ(
      text(
          "{{ documents[0].title }}{{ enable_thinking }}{{ reasoning_effort }}",
          R"({"documents": [{"title": "T"}], "chat_template_kwargs": {"enable_thinking": false}, "reasoning_effort": "low",
                     "messages": [{"role": "user", "content": "x"}]})"),
      "TFalselow");
  EXPECT_EQ(
      text(kPlain, R"({"add_generation_prompt": false, "continue_final_message": true, "messages": [
                   {"role": "user", "content": "U"}, {"role": "assistant", "content": "One "}]})"),
      "<s><user>U<assistant>One ");
}

TEST(ChatRequest, RefusesWhatIsNotAChat) {
  const ChatTemplate chat = ChatTemplate::parse(
                                "{% for m in messages %}{% if m.role == 'robot' %}{{ "
                                "raise_exception('no robots') }}{% endif %}{% endfor %}")
                                .value();
  const std::string end = R"("messages": [{"role": "user", "content": "x"}]})";
  for (
      const std::string& body :
      {std::string("{}"), std::string(R"({"messages": [{"content": "x"}]})"),
       std::string(R"({"messages": [{"role": "user"}]})"),
       std::string(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})"),
       std::string(
           R"({"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": "{"}}]}]})"),
       R"({"tools": 5, )" + end, R"({"tool_choice": "required", )" + end,
       R"({"chat_template": "x", )" + end, R"({"chat_template_kwargs": [], )" + end,
       R"({"continue_final_message": true, )" + end}) {
    const Result<std::string> text = chat_text(ordered(body), chat, {});
    ASSERT_FALSE(text.ok()) << body;
    EXPECT_EQ(std::string(text.error().code()), err::kServeRequest.id) << body;
  }
  const Result<std::string> text =
      chat_text(ordered(R"({"messages": [{"role": "robot", "content": "x"}]})"), chat, {});
  EXPECT_EQ(text.error().what(), "the chat template refuses the messages: no robots");
}

TEST(Tensors, BytesAreTextsWithLengths) {
  InferTensor t{"x", "BYTES", {2}, {"ab", ""}, {}};
  EXPECT_EQ(bytes_of(t), std::string("\2\0\0\0ab\0\0\0\0", 10));
  EXPECT_EQ(*texts_of_bytes(bytes_of(t)), t.texts);
  for (const std::string& bad : {std::string("\2\0\0"), std::string("\3\0\0\0ab", 6)})
    EXPECT_EQ(std::string(texts_of_bytes(bad).error().code()), err::kServeRequest.id);
  t.shape = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(t.size(), -1);
}

TEST(Tensors, TextsShareTheirSettings) {
  const InferTensor texts{"text_input", "BYTES", {3}, {"a", "b", "c"}, {}};
  const InferTensor numbers{"x", "FP32", {1}, {}, {}}, others{"y", "BYTES", {1}, {"d"}, {}};
  const std::vector<InferTensor> inputs{numbers, others, texts};
  const InferTensor* chosen = texts_among(inputs).value();
  EXPECT_EQ(chosen->name, "text_input");
  const auto queries = queries_of(*chosen, {{"max_new_tokens", 2}}, kNoDeadline).value();
  ASSERT_EQ(queries.size(), 3u);
  EXPECT_EQ(queries[2].text, "c");
  EXPECT_EQ(queries[0].settings, queries[2].settings);
  const auto code = [](const auto& result) { return std::string(result.error().code()); };
  EXPECT_EQ(code(texts_among({numbers})), err::kServeRequest.id);
  const InferTensor many{
      "y", "BYTES", {kMostTexts + 1}, std::vector<std::string>(kMostTexts + 1), {}};
  EXPECT_EQ(code(queries_of(many, {}, kNoDeadline)), err::kServeRequest.id);
}

}  // namespace
}  // namespace hone
