// A served model through requests, and the parts of the server that need no model.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "engine/backends/tested_backends_test.h"
#include "operate/serve/errors.h"
#include "operate/serve/loader.h"
#include "operate/serve/model_set.h"
#include "operate/serve/protocol/errors.h"
#include "operate/serve/protocol/json_body.h"
#include "operate/serve/route_table.h"
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
  std::vector<std::string> usual = {"far"};
#ifndef __SANITIZE_ADDRESS__  // emulated threads are tried under it in engine/backends
  for (const std::string& emulated : emulated_backends()) usual.push_back(emulated);
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
  EXPECT_EQ(
      std::string(model->ask({.text = "Hello", .settings = shared({{"num_beams", 5}})}, nullptr, {})
                      .error()
                      .code()),
      err::kServeTooLarge.id);
}

// The clock moves on the model's thread alone, a second with each piece of text.
TEST(ServedModelTest, EndsAtTheDeadlineAndMeasuresByItsClock) {
  FakeClock clock;
  Metrics metrics;
  ServedOptions o{.threads = 1, .batch_size = 2, .max_length = 48};
  o.engine.clock = &clock;
  o.metrics = &metrics;
  const auto model = *ServedModel::load("tiny", "1", kTiny, o);
  const auto ask = [&](Deadline deadline) {
    std::promise<std::string> code;
    TextQuery q{.text = "Hello, world", .settings = shared({{"max_new_tokens", 6}})};
    q.deadline = deadline;
    EXPECT_TRUE(
        model
            ->ask(
                std::move(q), [&](size_t, const std::string&) { clock.advance(1); },
                [&](Result<TextAnswer> a) { code.set_value(a.ok() ? "" : a.error().code()); })
            .ok());
    return code.get_future().get();
  };
  EXPECT_EQ(ask(clock.seconds()), err::kServeLate.id);  // while it waits
  EXPECT_EQ(clock.seconds(), 0);
  EXPECT_EQ(ask(2), err::kServeLate.id);  // while it runs
  EXPECT_EQ(clock.seconds(), 2);
  EXPECT_EQ(ask(kNoDeadline), "");
  const double took = clock.seconds() - 2;
  EXPECT_GE(took, 3);
  model->join();
  const ModelLatencies latencies(metrics, {{"model", "tiny"}, {"version", "1"}});
  EXPECT_EQ(latencies.answer.read().count, 1u);
  EXPECT_LE(latencies.answer.read().sum, took);
  EXPECT_GE(latencies.answer.read().sum, took - 1);  // the last piece may come after the end
  EXPECT_EQ(latencies.first_token.read().sum, 0);
}

struct OneClient : WebClient {
  bool gone() const override { return false; }
  void on_gone(std::function<void()>) override {}
  void tell(const WorkFacts& f) override { facts = f; }
  WorkFacts facts;
};

// Time passes with each piece of text only: within runs of the model, and with the last piece while the answer is made.
TEST(ServedModelTest, CountsInTritonsTerms) {
  FakeClock clock;
  ServedOptions o{.threads = 1, .batch_size = 2, .max_length = 48};
  o.engine.clock = &clock;
  const auto model = *ServedModel::load("tiny", "1", kTiny, o);
  const auto ask = [&](const Json& settings) {
    OneClient client;
    std::promise<bool> ok;
    ask_pieces(
        client, model, {.text = "Hello, world", .settings = shared(settings)},
        [&](size_t, const std::string&) { clock.advance(1); },
        [&](const Result<TextAnswer>& a) { ok.set_value(a.ok()); });
    EXPECT_EQ(client.facts.model, "tiny");
    const bool answered = ok.get_future().get();
    EXPECT_EQ(client.facts.tokens_out, answered ? 6 : -1);
    return answered;
  };
  EXPECT_TRUE(ask({{"max_new_tokens", 6}}));
  const double first = clock.seconds();
  EXPECT_TRUE(ask({{"max_new_tokens", 6}}));
  EXPECT_FALSE(ask({{"max_new_tokens", 0}}));
  model->join();
  const ModelStatistics::Reading s = model->statistics().read();
  using S = ModelStatistics;
  EXPECT_EQ(s.parts[S::success].count, 2);
  EXPECT_EQ(s.parts[S::fail].count, 1);
  for (const auto part : {S::queue, S::compute_input, S::compute_infer, S::compute_output})
    EXPECT_EQ(s.parts[part].count, 2) << part;
  EXPECT_EQ(s.texts, 2);
  EXPECT_EQ(s.last_ended, clock.wall_seconds());
  EXPECT_GE(first, 3);
  EXPECT_EQ(s.parts[S::success].seconds, clock.seconds());
  EXPECT_EQ(s.parts[S::queue].seconds + s.parts[S::compute_input].seconds, 0);
  EXPECT_EQ(s.parts[S::compute_infer].seconds + s.parts[S::compute_output].seconds,
            clock.seconds());
  EXPECT_EQ(s.executions, 12);  // the first reads the prompt and gives a token
  ASSERT_EQ(s.batches.size(), 1u);
  EXPECT_EQ(s.batches.at(1).infer.count, 12);
  EXPECT_EQ(s.batches.at(1).infer.seconds, clock.seconds());
  const OrderedJson j = triton_statistics(*model);
  EXPECT_EQ(j["inference_count"], 2);
  EXPECT_EQ(j["inference_stats"]["success"]["ns"], static_cast<int64_t>(clock.seconds() * 1e9));
  EXPECT_EQ(j["batch_stats"][0]["compute_infer"]["count"], 12);
}

TEST(ServedModelTest, CountsTheTextsOfARunOfRows) {
  const std::string bert = std::string(HONE_SOURCE_DIR) + "/tests/goldens/classification/bert";
  const auto model = *ServedModel::load("bert", "1", bert, {.threads = 1, .batch_size = 4});
  OneClient client;
  std::promise<bool> ok;
  std::vector<TextQuery> queries(3, TextQuery{.text = "a b"});
  ask_all(client, model, std::move(queries),
          [&](const Result<std::vector<TextAnswer>>& a) { ok.set_value(a.ok()); });
  EXPECT_TRUE(ok.get_future().get());
  model->join();
  const ModelStatistics::Reading s = model->statistics().read();
  EXPECT_EQ(s.parts[ModelStatistics::success].count, 1);
  EXPECT_EQ(s.parts[ModelStatistics::queue].count, 3);
  EXPECT_EQ(s.texts, 3);
  int64_t texts = 0;
  for (const auto& [sequences, b] : s.batches) texts += sequences * b.infer.count;
  EXPECT_EQ(texts, 3);
  EXPECT_GE(client.facts.tokens_in, 3);
}

// A context with each of its choices, as pairs: the best one is that of tests/goldens/multiple_choice/swag.json.
TEST(ServedModelTest, ScoresEachChoiceOfARow) {
  const std::string folder = std::string(HONE_SOURCE_DIR) + "/tests/goldens/multiple_choice/";
  const ServedOptions options{.threads = 1, .batch_size = 4, .max_length = 32};
  const auto model = *ServedModel::load("swag", "1", folder + "swag_bert", options);
  EXPECT_TRUE(model->scores_pairs());
  const Json golden = Json::parse(std::ifstream(folder + "swag.json"))["bert"]["choices"];
  std::ifstream rows(folder + "swag.jsonl");
  std::string line;
  for (size_t i = 0; std::getline(rows, line); ++i) {
    const Json row = Json::parse(line);
    std::vector<TextQuery> queries;
    for (int k = 0; k < 4; ++k)
      queries.push_back({.text = row["sent1"],
                         .pair = row["sent2"].get<std::string>() + " " +
                                 row[fmt::format("ending{}", k)].get<std::string>()});
    OneClient client;
    std::promise<int> best;
    ask_all(client, model, std::move(queries), [&](const Result<std::vector<TextAnswer>>& a) {
      int most = a.ok() ? 0 : -1;
      for (int k = 1; k < 4 && most >= 0; ++k)
        if ((*a)[static_cast<size_t>(k)].labels[0][0].score >
            (*a)[static_cast<size_t>(most)].labels[0][0].score)
          most = k;
      best.set_value(most);
    });
    EXPECT_EQ(best.get_future().get(), golden[i].get<int>()) << i;
  }
  model->join();
}

// At each of its steps, of which every weight is one.
TEST(ServedModelTest, GivesUpALoadThatIsCancelled) {
  int64_t steps = 0, last = INT64_MAX;
  ServedOptions o{.threads = 1, .batch_size = 2, .max_length = 48};
  o.cancelled = [&] { return ++steps > last; };
  ASSERT_TRUE(ServedModel::load("tiny", "1", kTiny, o).ok());
  const int64_t all = steps;
  EXPECT_GT(all, 20);
  for (const int64_t given : {int64_t{0}, int64_t{1}, int64_t{2}, all / 2, all - 1}) {
    steps = 0, last = given;
    const auto model = ServedModel::load("tiny", "1", kTiny, o);
    ASSERT_FALSE(model.ok()) << given;
    EXPECT_TRUE(model.error().is(err::kServeEnds)) << model.error().text();
    EXPECT_EQ(steps, given + 1);
  }
}

TEST(ModelSetTest, RefusesNamesAndVersionsThatAreNone) {
  ModelSet models;
  const auto code = [&](const std::string& name, const std::string& version) {
    EXPECT_EQ(models.find(name, version).error().code(),
              models.look_up(name, version).error().code());
    return std::string(models.find(name, version).error().code());
  };
  const std::string nul("1\0", 2);
  for (const std::string& bad : {nul, std::string("1\n"), std::string("\x7f"), std::string("\x01"),
                                 std::string("../1"), std::string("a/b")})
    EXPECT_EQ(code("m", bad), err::kServeRequest.id);
  EXPECT_EQ(code(nul, ""), err::kServeRequest.id);
  EXPECT_EQ(code("org/model", "1"), err::kServeNoModel.id);
}

TEST(ServedModelTest, RefusesLongTextsBeforeTheirTokensAreCounted) {
  const auto asked =
      tiny()->ask({.text = std::string((1 << 20) + 1, 'a')}, nullptr, [](Result<TextAnswer>) {});
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.error().what(), "the text has 1048577 bytes, the server reads 1048576");
  wait_for_unloads();
}

TEST(ServeErrors, AFailedAllocationIsNotTheClients) {
  EXPECT_TRUE(no_memory().is(err::kServeNoMemory));
  EXPECT_EQ(status_of(no_memory()), 503);
}

TEST(JobQueue, EndsJobsWhoseTimeIsOver) {
  struct TimedJob {
    Deadline deadline;
    std::function<void(Error)> done;
    bool follows = false;
  };
  FakeClock clock;
  JobQueue<TimedJob> queue(2);
  std::vector<std::string> ended;
  const auto add = [&](const char* name, Deadline deadline) {
    return queue.submit({deadline, [&ended, name](const Error& e) {
                           ended.push_back(name + std::string(e.code()));
                         }});
  };
  ASSERT_TRUE(add("a", clock.seconds() + 5).ok());
  ASSERT_TRUE(add("b", kNoDeadline).ok());
  EXPECT_EQ(std::string(add("c", kNoDeadline).error().code()), err::kServeBusy.id);
  // Another text of a request that was let in.
  EXPECT_TRUE(queue.submit({clock.seconds() + 5, [](const Error&) {}, true}).ok());
  clock.advance(4);
  queue.end_late(clock.seconds());
  EXPECT_TRUE(ended.empty());
  clock.advance(1);
  queue.end_late(clock.seconds());
  EXPECT_EQ(ended, std::vector{std::string("a") + err::kServeLate.id});
  queue.stop();
  queue.end_all();
  EXPECT_EQ(ended.back(), std::string("b") + err::kServeEnds.id);
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
  if (second.ok()) {
    EXPECT_EQ(waiting.get_future().get(), err::kServeEnds.id);
  }
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
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("hone_no_head_{}", getpid());
  fs::copy(HONE_SOURCE_DIR "/tests/goldens/embedding/folders/mean_normalize", folder,
           fs::copy_options::recursive);
  fs::remove(folder / "modules.json");  // what is left is a body without a head
  std::ofstream(folder / "vocab.txt") << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n";
  const auto body = ServedModel::load("body", "1", folder.string(), {});
  ASSERT_FALSE(body.ok());
  EXPECT_EQ(std::string(body.error().code()), err::kServeModel.id) << body.error().text();
  fs::remove_all(folder);
  const std::string tags = std::string(HONE_SOURCE_DIR) + "/tests/goldens/ner/bert";
  EXPECT_EQ(std::string(ServedModel::load("tags", "1", tags, {.prefix = "a "}).error().code()),
            err::kServeFlag.id);
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

TEST(ModelSet, SaysThatItsFirstModelsAreBeingLoaded) {
  ModelSet set;
  set.loading(true);
  const Error loading = set.find("tiny").error();
  EXPECT_TRUE(loading.is(err::kServeLoading));
  EXPECT_EQ(status_of(loading), 503);
  EXPECT_EQ(headers_of(loading).size(), 1u) << "Retry-After";
  set.loading(false);
  EXPECT_EQ(status_of(set.find("tiny").error()), 404);
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

TEST(PathPattern, NamesThePartsOfAPath) {
  const auto match = [](const std::string& pattern, const std::vector<std::string>& path) {
    std::optional<PathNames> found;
    for (const PathPattern& p : PathPattern::all_of(pattern))
      if (!found) found = p.match(path);
    return found;
  };
  const std::string pattern = "v1/models/{m}[/versions/{v}]:predict";
  EXPECT_EQ(match(pattern, {"v1", "models", "a:b:predict"}), (PathNames{{"m", "a:b"}}));
  EXPECT_EQ(match(pattern, {"v1", "models", "a", "versions", "2:predict"}),
            (PathNames{{"m", "a"}, {"v", "2"}}));
  EXPECT_EQ(match(pattern, {"v1", "models", "a", "versions", "2"}), std::nullopt);
  EXPECT_EQ(match(pattern, {"v1", "models"}), std::nullopt);
  EXPECT_EQ(match("x[/y][/z]", {"x", "z"}), PathNames{});
  EXPECT_EQ(match("x[/y][/z]", {"x", "y", "z"}), PathNames{});
  EXPECT_EQ(match("x", {"x", "y"}), std::nullopt);
  EXPECT_EQ(match("/x", {"x"}), PathNames{});
}

TEST(ModelSet, NewerIsTheLargerNumber) {
  EXPECT_TRUE(is_newer("10", "9"));
  EXPECT_FALSE(is_newer("9", "10"));
  EXPECT_FALSE(is_newer("2", "2"));
  EXPECT_FALSE(is_newer("b", "a"));
  EXPECT_FALSE(is_newer("3", ""));
}

TEST(Tensors, TextsShareTheirSettings) {
  const InferTensor texts{"text_input", "BYTES", {3}, {"a", "b", "c"}};
  const InferTensor numbers{"x", "FP32", {1}}, others{"y", "BYTES", {1}, {"d"}};
  const std::vector<InferTensor> inputs{numbers, others, texts};
  const InferTensor* chosen = texts_among(inputs).value();
  EXPECT_EQ(chosen->name, "text_input");
  const auto model = tiny();
  const auto queries = queries_of(*model, *chosen, {{"max_new_tokens", 2}}, kNoDeadline).value();
  ASSERT_EQ(queries.size(), 3u);
  EXPECT_EQ(queries[2].text, "c");
  EXPECT_EQ(queries[0].settings, queries[2].settings);
  const auto code = [](const auto& result) { return std::string(result.error().code()); };
  EXPECT_EQ(code(texts_among({numbers})), err::kServeRequest.id);
  const InferTensor many{"y", "BYTES", {kMostTexts + 1}, std::vector<std::string>(kMostTexts + 1)};
  EXPECT_EQ(code(queries_of(*model, many, {}, kNoDeadline)), err::kServeRequest.id);
}

}  // namespace
}  // namespace hone
