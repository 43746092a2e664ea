#include "learn/data/shards/shared_prepare.h"

#include <algorithm>

#include "base/store/errors.h"
#include "base/store/store.h"
#include "base/store/work_items.h"
#include "learn/data/formats/megatron_index.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/shards/errors.h"
#include "learn/data/shards/shard_names.h"
#include "learn/data/shards/shard_writer.h"
#include "learn/data/shards/shared_steps.h"

namespace hone {
namespace {

OrderedJson item_to_json(const std::vector<TextPart>& parts, const WorkItem& item) {
  OrderedJson json = {{"split", parts[item.part].split},
                      {"files", {item.first_file, item.end_file}}};
  if (item.begin != 0 || item.end != INT64_MAX) json["bytes"] = {item.begin, item.end};
  return json;
}

class SharedPreparation {
 public:
  SharedPreparation(const std::vector<TextPart>& parts, const PrepareOptions& options,
                    const SharedWork& work)
      : parts_(parts), options_(options), work_(work) {}

  // Makes the plan, or checks that it is the same.
  Status begin() {
    out_.manifest.settings = options_.settings;
    out_.manifest.sources = HONE_TRY(source_sizes(parts_));
    items_ = HONE_TRY(items_of(parts_, work_.item_bytes));
    if (HONE_TRY(take_finished())) return Ok{};
    Store& store = file_store();
    if (!HONE_TRY(store.exists(in_folder(kShardProgress)))) HONE_TRY(write_plan());
    const std::string name = in_folder(kShardProgress);
    const Result<std::string> text = store.read(name);
    if (!text.ok() && HONE_TRY(take_finished())) return Ok{};
    if (!text.ok()) return text.error();
    const OrderedJson plan = HONE_TRY(parse_ordered_json(*text, name));
    if (!plan.is_object() || !plan.contains("settings") || !plan.contains("sources"))
      return Error(err::kShards, "the plan of the work cannot be read").at(name);
    HONE_TRY(check_same(plan["settings"], plan["sources"]));
    HONE_TRY(store.make_dirs(in_folder(kShardWork)));
    for (const TextPart& part : parts_) HONE_TRY(store.make_dirs(in_folder(part.split)));
    return Ok{};
  }

  Result<Prepared> run(const Tokenize& tokenize) {
    if (work_.ended()) {
      out_.stopped = true;
      return std::move(out_);
    }
    HONE_TRY(begin());
    if (out_.was_there) {
      clean();  // a worker may have been killed after another one finished
      return std::move(out_);
    }
    Status worked = take_items(tokenize);
    if (worked.ok() && !work_.finishes) out_.stopped = true;
    if (worked.ok() && !out_.stopped) worked = finish();
    if (!worked.ok() && work_.ended()) {
      out_.stopped = true;
      worked = Ok{};
    }
    // Another process may have finished the folder, and deleted the plan, in the meantime.
    if (!worked.ok() && !path_exists(in_folder(kShardManifest))) return std::move(worked.error());
    if (!worked.ok()) out_.manifest = HONE_TRY(read_shard_manifest(options_.folder));
    if (!out_.stopped) clean();
    out_.was_there = false;
    return std::move(out_);
  }

  Result<SharedState> state() {
    HONE_TRY(begin());
    SharedState state{.finished = out_.was_there};
    state.items = static_cast<int64_t>(items_.size());
    const SharedJob job{parts_, options_, work_, items_};
    const Tokenize none;
    for (const SharedStep& step : shared_steps(job, none)) state.steps += step.count;
    return state;
  }

 private:
  std::string in_folder(const std::string& name) const { return options_.folder + "/" + name; }

  Status check_same(const OrderedJson& settings, const OrderedJson& sources) const {
    const std::string what = fmt::format("the shards '{}'", options_.folder);
    HONE_TRY(check_same_settings(settings, out_.manifest.settings, what));
    return check_same_sources(sources, out_.manifest.sources, what);
  }

  // True if the folder is finished.
  Result<bool> take_finished() {
    if (!HONE_TRY(file_store().exists(in_folder(kShardManifest)))) return false;
    ShardManifest made = HONE_TRY(read_shard_manifest(options_.folder));
    HONE_TRY(check_same(made.settings, made.sources));
    out_.manifest = std::move(made);
    out_.was_there = true;
    return true;
  }

  Status write_plan() {
    Store& store = file_store();
    std::vector<Store::Entry> others;
    if (HONE_TRY(store.exists(options_.folder))) others = HONE_TRY(store.list(options_.folder));
    std::erase_if(others, [](const Store::Entry& e) { return e.name.starts_with('.'); });
    if (!others.empty()) {
      if (is_shard_folder(options_.folder)) return Ok{};
      return other_files(options_.folder);
    }
    HONE_TRY(store.make_dirs(options_.folder));
    OrderedJson plan;
    plan["settings"] = out_.manifest.settings;
    plan["sources"] = out_.manifest.sources;
    plan["items"] = OrderedJson::array();
    for (const WorkItem& item : items_) plan["items"].push_back(item_to_json(parts_, item));
    const auto write = [&]() -> Status {
      const std::unique_ptr<Writer> writer = HONE_TRY(store.create_new(in_folder(kShardProgress)));
      HONE_TRY(writer->write(dump_json(plan) + "\n"));
      return writer->commit();
    };
    Status written = write();
    if (!written.ok() && written.error().is(err::kLostRace)) return Ok{};
    return written;
  }

  Status take_items(const Tokenize& tokenize) {
    const SharedJob job{parts_, options_, work_, items_};
    const std::vector<SharedStep> steps = shared_steps(job, tokenize);
    int64_t all = 0, before = 0;
    for (const SharedStep& step : steps) all += step.count;
    for (const SharedStep& step : steps) {
      HONE_TRY(file_store().make_dirs(job.step_folder(step.name)));
      HONE_TRY(take_items_of(job, step, before, all));
      if (out_.stopped || out_.was_there) return Ok{};
      before += step.count;
    }
    return Ok{};
  }

  // Waits until all items of the step are done.
  Status take_items_of(const SharedJob& job, const SharedStep& step, int64_t before, int64_t all) {
    WorkItems board(job.step_folder(step.name), step.count, work_.stale_s);
    for (;;) {
      if (work_.stops() || work_.ended()) {
        out_.stopped = true;
        return Ok{};
      }
      // In a bucket a folder that was deleted looks like one without finished items.
      if (HONE_TRY(take_finished())) return Ok{};
      const std::optional<int64_t> item = HONE_TRY(board.take());
      work_.progress(before + board.done(), all);
      if (!item && board.all_done()) return Ok{};
      if (!item) {
        system_clock().sleep(std::min(1.0, work_.stale_s / 4));
        continue;
      }
      const std::optional<std::string> result = HONE_TRY(step.run(*item));
      out_.stopped = !result;
      if (!result) return Ok{};
      HONE_TRY(board.commit(*result));
    }
  }

  // Joins the results of all steps.
  Status finish() {
    if (out_.was_there) return Ok{};
    const SharedJob job{parts_, options_, work_, items_};
    const auto result = [&](const std::string& step, int64_t item) {
      return WorkItems(job.step_folder(step), 0).result(item);
    };
    for (size_t p = 0; p < parts_.size(); ++p) {
      JoinedSplit joined = HONE_TRY(join_results(job, p, result));
      ShardSplit& split = joined.split;
      HONE_TRY(check_some_rows(split.counts, parts_[p].options, split.rows()));
      if (work_.dedup.kind != DedupOptions::Kind::kNone)
        out_.notes.push_back(
            fmt::format("{}: {} of {} left out as duplicates", split.name, grouped(joined.left_out),
                        count_of(split.counts.rows_read + joined.left_out, "row")));
      out_.notes.push_back(
          fmt::format("{}: {}", split.name, describe(split.counts, parts_[p].options)));
      HONE_TRY(write_dataset_files(in_folder(split.name), split));
      out_.manifest.splits.push_back(std::move(split));
    }
    return write_shard_manifest(options_.folder, out_.manifest);
  }

  // Several processes may do this at once, and the folder is finished: failures do no harm.
  void clean() const {
    Store& store = file_store();
    (void)store.remove_all(in_folder(kShardWork));
    (void)store.remove_all(in_folder(kShardProgress));
    (void)store.remove_unfinished(options_.folder);
    for (const TextPart& part : parts_) (void)store.remove_unfinished(in_folder(part.split));
  }

  const std::vector<TextPart>& parts_;
  const PrepareOptions& options_;
  const SharedWork& work_;
  std::vector<WorkItem> items_;
  Prepared out_;
};

}  // namespace

Result<OrderedJson> source_sizes(const std::vector<TextPart>& parts) {
  OrderedJson sources = OrderedJson::array();
  for (const TextPart& part : parts)
    for (const std::string& file : files_with_ids(part.files)) {
      const auto bytes = HONE_TRY(file_store().bytes(file));
      sources.push_back({{"split", part.split}, {"file", file}, {"bytes", bytes}});
    }
  return sources;
}

Result<SharedState> plan_shared(const std::vector<TextPart>& parts, const PrepareOptions& options,
                                const SharedWork& work) {
  return SharedPreparation(parts, options, work).state();
}

int64_t shared_done(const std::string& folder) {
  int64_t done = 0;
  const std::string work = folder + "/" + kShardWork;
  for (const std::string& step : names_in(work))
    done += std::ranges::count_if(names_in(work + "/" + step),
                                  [](const std::string& name) { return name.ends_with(".done"); });
  return done;
}

Result<Prepared> prepare_shared(const std::vector<TextPart>& parts, const PrepareOptions& options,
                                const SharedWork& work, const Tokenize& tokenize) {
  return SharedPreparation(parts, options, work).run(tokenize);
}

}  // namespace hone
