#include "learn/checkpoint/training_checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>

#include "base/store/errors.h"
#include "base/store/temporary_folder.h"
#include "learn/checkpoint/errors.h"
#include "learn/checkpoint/output_dir.h"

namespace hone {
namespace {
namespace fs = std::filesystem;

// Weights that tell their step.
struct Weights {
  std::vector<float> values;
  std::vector<TensorData> data;
  explicit Weights(int64_t step, size_t n = 300) : values(n, static_cast<float>(step)) {
    for (const char* name : {"a", "b"})
      data.push_back(
          {name, {DType::f32, {static_cast<int64_t>(n)}}, std::as_bytes(std::span(values)), {}});
  }
};

Result<std::string> save(Store& store, const std::string& dir, int64_t step, size_t n = 300) {
  const Weights w(step, n);
  CheckpointWriter c = HONE_TRY(CheckpointWriter::begin(dir, step, store));
  HONE_TRY(c.add_tensors("model", w.data, static_cast<int64_t>(5 * n)));  // two shards
  HONE_TRY(c.add_tensors(kOptimizerStem, w.data));
  HONE_TRY(c.add_file("config.json", "{}"));
  HONE_TRY(store.write(c.folder() + "/tokenizer.json", "by others"));
  HONE_TRY(store.make_dirs(c.folder() + "/1_Pooling"));
  HONE_TRY(store.write(c.folder() + "/1_Pooling/config.json", "by others too"));
  HONE_TRY(c.add_json(kStateFile, Json{{"step", step}}));
  return c.commit();
}

std::vector<std::string> names(Store& store) {
  const auto entries = store.list("/out").value();
  std::vector<std::string> found;
  for (const Store::Entry& e : entries) found.push_back(e.name);
  return found;
}

// Every checkpoint listed must verify and hold its own step throughout.
void check_all(Store& store, const std::string& dir, int64_t newest_at_least) {
  const auto found = find_checkpoints(dir, store).value();
  if (newest_at_least > 0) {
    ASSERT_FALSE(found.empty());
    EXPECT_GE(found.front().step, newest_at_least);
  }
  for (const CheckpointInfo& c : found) {
    EXPECT_TRUE(c.by_hone && c.resumable);
    auto opened = open_checkpoint(c.path, store);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    EXPECT_EQ(opened->state["step"], c.step);
    for (const WeightSource* w : {opened->weights.get(), opened->optimizer.get()}) {
      std::vector<float> v(static_cast<size_t>(w->find("b")->type.count()));
      ASSERT_TRUE(w->read("b", DType::f32, std::as_writable_bytes(std::span(v))).ok());
      EXPECT_EQ(v.back(), static_cast<float>(c.step));
    }
  }
}

TEST(Checkpoint, SavedFoundVerifiedReplaced) {
  auto store = make_memory_store();
  EXPECT_TRUE(find_checkpoints("/out", *store)->empty());
  EXPECT_EQ(save(*store, "/out", 9).value(), "/out/checkpoint-9");
  ASSERT_TRUE(save(*store, "/out", 10).ok());
  ASSERT_TRUE(save(*store, "/out", 10).ok());  // again: replaced
  const auto found = find_checkpoints("/out", *store).value();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, "/out/checkpoint-10");
  check_all(*store, "/out", 10);
  EXPECT_EQ(store->list("/out")->size(), 2u);
  {
    auto abandoned = CheckpointWriter::begin("/out", 11, *store).value();
    ASSERT_TRUE(abandoned.add_file("x", "y").ok());
  }
  EXPECT_EQ(store->list("/out")->size(), 2u);
}

TEST(Checkpoint, DamageIsSeen) {
  auto store = make_memory_store();
  const std::string path = save(*store, "/out", 5).value();
  const std::string name = path + "/model-00001-of-00002.safetensors";
  const std::string good = store->read(name).value();
  std::string bad = good;
  bad[bad.size() - 3] ^= 1;
  ASSERT_TRUE(store->write(name, bad).ok());
  EXPECT_EQ(find_checkpoints("/out", *store)->size(), 1u);  // sizes are right
  const Status s = verify_checkpoint(path, *store);
  EXPECT_STREQ(s.error().code(), "H2212");
  EXPECT_NE(s.error().what().find("model-00001-of-00002.safetensors' has checksum"),
            std::string::npos);
  EXPECT_STREQ(open_checkpoint(path, *store).error().code(), "H2212");
  ASSERT_TRUE(store->write(name, good + "x").ok());
  EXPECT_TRUE(find_checkpoints("/out", *store)->empty());
  ASSERT_TRUE(store->remove(name).ok());
  EXPECT_NE(inspect_checkpoint(path, *store).error().what().find("is missing"), std::string::npos);
  ASSERT_TRUE(store->write(name, good).ok());
  EXPECT_TRUE(verify_checkpoint(path, *store).ok());
  const std::string manifest = store->read(path + "/hone_manifest.json").value();
  for (std::string text :
       {std::string("{"), std::string("[]"), std::string("{\"version\":2,\"files\":{}}"),
        std::string("{\"version\":1,\"files\":{\"../x\":{\"bytes\":1,\"xxh64\":\"0\"}}}"),
        manifest.substr(0, manifest.size() / 2)}) {
    ASSERT_TRUE(store->write(path + "/hone_manifest.json", text).ok());
    EXPECT_STREQ(inspect_checkpoint(path, *store).error().code(), "H2212") << text;
  }
  ASSERT_TRUE(store->remove(path + "/hone_manifest.json").ok());
  EXPECT_TRUE(find_checkpoints("/out", *store)
                  ->empty());  // hone's, but incomplete: not taken for another's
}

TEST(Checkpoint, OfTransformersIsWeightsOnly) {
  auto store = make_memory_store();
  ASSERT_TRUE(
      save_safetensors("/out/checkpoint-500", "model", Weights(500).data, kDefaultShardSize, *store)
          .ok());
  EXPECT_TRUE(find_checkpoints("/out", *store)->empty());  // no config.json
  ASSERT_TRUE(store->write("/out/checkpoint-500/config.json", "{}").ok());
  const auto found = find_checkpoints("/out", *store).value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].resumable || found[0].by_hone);
  EXPECT_TRUE(open_checkpoint(found[0].path, *store)->state.is_null());
  ASSERT_TRUE(rotate_checkpoints("/out", {.save_total_limit = 1}, *store)->empty());
}

TEST(Checkpoint, RotationKeepsTheBestAndTheLastGood) {
  auto store = make_memory_store();
  const auto steps = [&] {
    std::vector<int64_t> s;
    const auto found = find_checkpoints("/out", *store).value();
    for (const auto& c : found) s.push_back(c.step);
    return s;
  };
  for (int64_t i = 1; i <= 5; ++i) ASSERT_TRUE(save(*store, "/out", i).ok());
  EXPECT_TRUE(rotate_checkpoints("/out", {.save_total_limit = 0}, *store)->empty());
  EXPECT_TRUE(rotate_checkpoints("/out", {.save_total_limit = 5}, *store)->empty());
  ASSERT_EQ(
      rotate_checkpoints("/out", {.save_total_limit = 3, .best = "/out/checkpoint-1/"}, *store)
          .value(),
      (std::vector<std::string>{"/out/checkpoint-2", "/out/checkpoint-3"}));
  EXPECT_EQ(steps(), (std::vector<int64_t>{5, 4, 1}));
  ASSERT_TRUE(
      rotate_checkpoints(
          "/out",
          {.save_total_limit = 1, .best = "/out/checkpoint-1", .trusted = "/out/checkpoint-5"},
          *store)
          .ok());
  EXPECT_EQ(steps(), (std::vector<int64_t>{5, 1}));
  for (int64_t i = 6; i <= 8; ++i) ASSERT_TRUE(save(*store, "/out", i).ok());
  for (int64_t i = 7; i <= 8; ++i) {  // bit rot in the newest two: 6 is the last good one
    const std::string name = fmt::format("/out/checkpoint-{}/optimizer.safetensors", i);
    std::string bytes = store->read(name).value();
    bytes.back() ^= 64;
    ASSERT_TRUE(store->write(name, bytes).ok());
  }
  ASSERT_TRUE(rotate_checkpoints("/out", {.save_total_limit = 1}, *store).ok());
  EXPECT_EQ(steps(), (std::vector<int64_t>{8, 7, 6}));
}

// A run that continued from an older checkpoint writes one between the others.
TEST(Checkpoint, RotationKeepsTheOneJustWritten) {
  auto store = make_memory_store();
  for (const int64_t step : {100, 50, 60}) ASSERT_TRUE(save(*store, "/out", step).ok());
  EXPECT_EQ(
      rotate_checkpoints(
          "/out", {.save_total_limit = 1, .best = "", .trusted = "/out/checkpoint-60"}, *store)
          .value(),
      std::vector<std::string>{"/out/checkpoint-50"});
  check_all(*store, "/out", 100);
  EXPECT_EQ(find_checkpoints("/out", *store)->back().step, 60);
}

TEST(Checkpoint, LeftoversGoAndTheReplacedComesBack) {
  auto store = make_memory_store();
  ASSERT_TRUE(save(*store, "/out", 1).ok());
  ASSERT_TRUE(save(*store, "/out", 2).ok());
  ASSERT_TRUE(store->rename("/out/checkpoint-2", "/out/checkpoint-2.old-77").ok());
  for (const char* name :
       {"checkpoint-3.tmp-77", "checkpoint-1.del-77", "checkpoint-1.old-77", "mine.tmp-1"})
    ASSERT_TRUE(store->write(std::string("/out/") + name + "/config.json", "{}").ok() ||
                store->make_dirs(std::string("/out/") + name).ok());
  EXPECT_EQ(clean_leftovers("/out", *store)->size(), 4u);
  EXPECT_EQ(store->list("/out")->size(), 3u);  // two checkpoints, and what is not hone's
  check_all(*store, "/out", 2);
}

// The power goes at every single operation of saving, replacing and rotating.
TEST(Checkpoint, PowerLossAtEveryOperation) {
  const auto work = [](Store& s) -> Status {
    HONE_TRY(save(s, "/out", 2, 8));
    HONE_TRY(save(s, "/out", 2, 8));
    HONE_TRY(save(s, "/out", 3, 8));
    HONE_TRY(rotate_checkpoints("/out", {.save_total_limit = 1}, s));
    return Ok{};
  };
  for (int64_t nth = 0;; ++nth) {
    SimulatedDisk disk;
    auto store = make_file_store(disk);
    ASSERT_TRUE(save(*store, "/out", 1, 8).ok());
    disk.lose_power_at(nth);
    const bool done = work(*store).ok();
    disk.power_on(static_cast<uint64_t>(nth));
    check_all(*store, "/out", 0);
    ASSERT_TRUE(clean_leftovers("/out", *store).ok());
    check_all(*store, "/out", done ? 3 : 1);
    for (const std::string& name : names(*store))
      EXPECT_GE(step_of_checkpoint_name(name), 0) << name;
    if (done) break;
    ASSERT_LT(nth, 5000);
  }
}

TEST(Checkpoint, AFullDiskSpoilsNothing) {
  SimulatedDisk disk;
  auto store = make_file_store(disk);
  ASSERT_TRUE(save(*store, "/out", 1).ok());
  disk.set_capacity(20000);
  int failures = 0;
  for (int64_t step = 2; step < 6; ++step) failures += save(*store, "/out", step).ok() ? 0 : 1;
  EXPECT_GT(failures, 0);
  check_all(*store, "/out", 1);
  for (const std::string& name : names(*store)) EXPECT_FALSE(is_checkpoint_leftover(name)) << name;
}

// A process that saves without pause is killed at random moments.
TEST(Checkpoint, KilledAtAnyMoment) {
  TemporaryFolder t;
  std::mt19937 random(3);
  int64_t newest = 1;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(save(file_store(), t.path, 1, 20000).ok());
  const auto one_save = std::chrono::duration_cast<std::chrono::microseconds>(
                            std::chrono::steady_clock::now() - start)
                            .count();
  for (int round = 0; round < 30; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      (void)clean_leftovers(t.path);
      for (int64_t step = newest + 1;; ++step) {
        if (!save(file_store(), t.path, step, 20000).ok()) ::_exit(1);
        if (!rotate_checkpoints(t.path, {.save_total_limit = 2}).ok()) ::_exit(2);
      }
    }
    ASSERT_GT(child, 0);
    ::usleep(static_cast<useconds_t>(
        2000 + random() % static_cast<uint64_t>(3 * std::min<int64_t>(one_save, 200000) + 1000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself with " << WEXITSTATUS(status);
    check_all(file_store(), t.path, newest);
    ASSERT_TRUE(clean_leftovers(t.path).ok());
    newest = find_checkpoints(t.path)->front().step;
  }
  EXPECT_GT(newest, 1);
}

TEST(OutputDir, EveryKind) {
  auto store = make_memory_store();
  const auto kind = [&] { return classify_output_dir("/out", *store)->kind; };
  EXPECT_EQ(kind(), OutputDirKind::absent);
  ASSERT_TRUE(store->make_dirs("/out").ok());
  EXPECT_EQ(kind(), OutputDirKind::empty);
  ASSERT_TRUE(store->write("/out/.gitignore", "*").ok());
  EXPECT_EQ(kind(), OutputDirKind::empty);
  ASSERT_TRUE(store->make_dirs("/out/check_samples").ok());
  EXPECT_EQ(kind(), OutputDirKind::empty);
  ASSERT_TRUE(store->write("/out/thesis.tex", "x").ok());
  EXPECT_EQ(kind(), OutputDirKind::foreign_files);
  EXPECT_EQ(classify_output_dir("/out", *store)->foreign, std::vector<std::string>{"thesis.tex"});
  ASSERT_TRUE(mark_run("/out", false, Json{{"seed", 42}}, *store).ok());
  EXPECT_EQ(kind(), OutputDirKind::hone_unfinished);
  EXPECT_EQ(classify_output_dir("/out", *store)->run["seed"], 42);
  ASSERT_TRUE(save(*store, "/out", 4).ok());
  EXPECT_EQ(kind(), OutputDirKind::has_checkpoints);
  ASSERT_TRUE(mark_run("/out", true, {}, *store).ok());
  EXPECT_EQ(kind(), OutputDirKind::finished);
  EXPECT_EQ(classify_output_dir("/out", *store)->checkpoints.size(), 1u);
  ASSERT_TRUE(store->write("/out/hone_run.json", "{\"sta").ok());
  EXPECT_EQ(kind(), OutputDirKind::has_checkpoints);
  EXPECT_STREQ(classify_output_dir("/out/thesis.tex", *store).error().code(), "H2213");
  ASSERT_TRUE(store->make_dirs("/other/checkpoint-3.tmp-9").ok());
  EXPECT_EQ(classify_output_dir("/other", *store)->kind, OutputDirKind::hone_unfinished);
}

// A bucket in memory: files without folders, each write whole or not at all. After `left` more
// changes every one fails, as when the process is killed.
class MemoryBucket : public Store {
 public:
  std::map<std::string, std::string> objects;
  int left = 1 << 30, changes = 0;
  std::string away;  // what has this in its path cannot be asked for

  Result<Info> info(const std::string& path) override {
    if (is_away(path)) return unanswered();
    if (const auto it = objects.find(path); it != objects.end())
      return Info{true, false, static_cast<int64_t>(it->second.size())};
    const auto below = objects.lower_bound(path + "/");
    const bool folder = below != objects.end() && below->first.starts_with(path + "/");
    return Info{folder, folder, 0};
  }
  Result<std::unique_ptr<Reader>> open(const std::string& path) override {
    if (is_away(path)) return unanswered();
    if (!objects.contains(path)) return Error(err::kCheckpointDamaged, "no " + path);
    return std::unique_ptr<Reader>(new Open(objects[path]));
  }
  Result<std::vector<Entry>> list(const std::string& folder) override {
    std::map<std::string, Entry> found;
    for (const auto& [path, text] : objects) {
      if (!path.starts_with(folder + "/")) continue;
      const std::string rest = path.substr(folder.size() + 1),
                        name = rest.substr(0, rest.find('/'));
      found[name] = {name, name != rest, static_cast<int64_t>(text.size())};
    }
    std::vector<Entry> entries;
    for (auto& [name, e] : found) entries.push_back(e);
    return entries;
  }
  Result<std::unique_ptr<Writer>> create(const std::string& path) override {
    return std::unique_ptr<Writer>(new Write(*this, path));
  }
  Result<std::unique_ptr<Writer>> append(const std::string&) override { return killed(); }
  Status rename(const std::string&, const std::string&) override { return killed(); }
  Status remove(const std::string& path) override {
    HONE_TRY(change());
    objects.erase(path);
    return Ok{};
  }
  Status remove_all(const std::string& path) override {
    HONE_TRY(change());
    std::erase_if(
        objects, [&](const auto& o) { return o.first == path || o.first.starts_with(path + "/"); });
    return Ok{};
  }
  Status make_dirs(const std::string&) override { return Ok{}; }
  Status remove_unfinished(const std::string&) override { return Ok{}; }
  bool renames_folders_at_once(const std::string&) override { return false; }

 private:
  static Error killed() { return {err::kCheckpointDamaged, "killed"}; }
  static Error unanswered() { return {err::kNetwork, "the server is away"}; }
  bool is_away(const std::string& path) const {
    return !away.empty() && path.find(away) != std::string::npos;
  }
  Status change() {
    if (left-- <= 0) return killed();
    ++changes;
    return Ok{};
  }
  struct Open : Reader {
    explicit Open(std::string t) : text(std::move(t)) {}
    std::string text;
    int64_t bytes() const override { return static_cast<int64_t>(text.size()); }
    Status read(int64_t offset, std::span<std::byte> out) override {
      std::memcpy(out.data(), text.data() + offset, out.size());
      return Ok{};
    }
  };
  struct Write : Writer {
    Write(MemoryBucket& b, std::string p) : bucket(b), path(std::move(p)) {}
    MemoryBucket& bucket;
    std::string path, text;
    Status write(std::span<const std::byte> bytes) override {
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return Ok{};
    }
    Status sync() override { return Ok{}; }
    Status commit() override {
      HONE_TRY(bucket.change());
      bucket.objects[path] = text;
      return Ok{};
    }
  };
};

TEST(TrainingCheckpoint, InABucketNoKillShowsAHalf) {
  // Two checkpoints, the second again, rotation down to one: killed at each change.
  const auto run = [](Store& s) -> Status {
    HONE_TRY(clean_leftovers("/out", s));
    for (const int64_t step : {10, 20, 20}) {
      HONE_TRY(save(s, "/out", step));
      HONE_TRY(rotate_checkpoints("/out", {.save_total_limit = 1, .best = "", .trusted = ""}, s));
    }
    return Ok{};
  };
  MemoryBucket whole;
  ASSERT_TRUE(run(whole).ok());
  check_all(whole, "/out", 20);
  ASSERT_GT(whole.changes, 40);
  for (int at = 0; at < whole.changes; ++at) {
    SCOPED_TRACE(at);
    MemoryBucket s;
    ASSERT_TRUE(save(s, "/out", 5).ok());
    s.left = at;
    EXPECT_FALSE(run(s).ok());
    s.left = 1 << 30;
    check_all(s, "/out", 0);  // before anybody cleans up
    ASSERT_TRUE(clean_leftovers("/out", s).ok());
    check_all(s, "/out", 5);
    for (const auto& [path, text] : s.objects)
      EXPECT_EQ(path.find(kUnfinishedFile), std::string::npos) << path;
    ASSERT_TRUE(run(s).ok());
    EXPECT_EQ(find_checkpoints("/out", s)->size(), 1u);
    check_all(s, "/out", 20);
  }
}

// A checkpoint that cannot be asked for is not one that is not there.
TEST(TrainingCheckpoint, AServerThatIsAwayHidesNoCheckpoint) {
  MemoryBucket s;
  ASSERT_TRUE(save(s, "/out", 7).ok());
  ASSERT_TRUE(save(s, "/out", 8).ok());
  for (const std::string away :
       {"/out", "checkpoint-8", "hone_manifest", "checkpoint-7/optimizer"}) {
    s.away = away;
    EXPECT_STREQ(find_checkpoints("/out", s).error().code(), "H0107") << away;
    EXPECT_STREQ(classify_output_dir("/out", s).error().code(), "H0107") << away;
    EXPECT_FALSE(rotate_checkpoints("/out", {.save_total_limit = 1}, s).ok()) << away;
  }
  s.away.clear();
  EXPECT_EQ(find_checkpoints("/out", s)->size(), 2u);
}

TEST(TrainingCheckpoint, InABucketOneOfTwoRunsCommits) {
  MemoryBucket s;
  CheckpointWriter first = CheckpointWriter::begin("/out", 7, s).value();
  ASSERT_TRUE(first.add_file("config.json", "{}").ok());
  ASSERT_TRUE(s.write("/out/checkpoint-7/hone_manifest.json", "{}").ok());  // another run's
  EXPECT_STREQ(first.commit().error().code(), "H0118");
}

}  // namespace
}  // namespace hone
