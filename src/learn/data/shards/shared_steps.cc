#include "learn/data/shards/shared_steps.h"

#include <algorithm>

#include "base/core/hash.h"
#include "base/store/store.h"
#include "learn/data/dedup/duplicates.h"
#include "learn/data/dedup/sections.h"
#include "learn/data/rows/files.h"
#include "learn/data/shards/shard_names.h"
#include "learn/data/shards/shard_writer.h"
#include "learn/data/shards/spilled_texts.h"

namespace hone {
namespace {

using StepResult = Result<std::optional<std::string>>;
using DedupKind = DedupOptions::Kind;

// The rows that are not left out.
class RowsLeft final : public RowReader {
 public:
  RowsLeft(std::unique_ptr<RowReader> rows, const std::vector<uint32_t>& left_out)
      : rows_(std::move(rows)), left_out_(left_out) {}
  const std::vector<std::string>& columns() const override { return rows_->columns(); }
  Result<bool> next(Row& row) override {
    while (HONE_TRY(rows_->next(row))) {
      const uint32_t number = number_++;
      if (!std::binary_search(left_out_.begin(), left_out_.end(), number)) return true;
    }
    return false;
  }
  uint32_t last_number() const { return number_ - 1; }  // of the row that next() gave, in the item
  RowPosition position() const override { return rows_->position(); }
  LabelNames label_names() const override { return rows_->label_names(); }
  void read_only(const std::vector<size_t>& columns) override { rows_->read_only(columns); }
  // Only to the begin, before the first row.
  Status seek(const RowPosition& to) override { return rows_->seek(to); }

 private:
  std::unique_ptr<RowReader> rows_;
  const std::vector<uint32_t>& left_out_;
  uint32_t number_ = 0;
};

void add_counts(const TextCounts& more, TextCounts& sum) {
  sum.rows_read += more.rows_read;
  sum.tokens_read += more.tokens_read;
  sum.rows_kept += more.rows_kept;
  sum.tokens_kept += more.tokens_kept;
  sum.tokens_dropped += more.tokens_dropped;
  sum.rows_cut += more.rows_cut;
  sum.rows_too_short += more.rows_too_short;
  sum.eos_appended += more.eos_appended;
}

ShardSplit empty_split(const TextPart& part) {
  ShardSplit split;
  split.name = part.split;
  split.hash = RowsHash().value();
  return split;
}

// The text of a cell; ids as their numbers.
Result<std::string> text_of(const Row& row, size_t column, std::string_view name) {
  if (column >= row.cells.size()) return std::string();
  if (const auto* ids = std::get_if<std::vector<int64_t>>(&row.cells[column]))
    return fmt::format("{}", fmt::join(*ids, " "));
  return std::string(HONE_TRY(cell_text(row, column, name)));
}

class SharedSteps {
 public:
  SharedSteps(const SharedJob& job, const Tokenize& tokenize) : job_(job), tokenize_(tokenize) {}

  StepResult keys(int64_t number) const {
    return with_lines(number, [&](int64_t line) { return keys_from(number, line); });
  }

  StepResult pairs(int64_t part) const {
    std::vector<std::string> sections;
    for (int64_t i = 0; i < count(); ++i)
      sections.push_back(HONE_TRY(read_section(job_.step_file("keys", i), count(), part)));
    const std::vector<DuplicatePair> found = find_pairs(sections);
    const std::string file = job_.step_file("pairs", part);
    if (job_.work.dedup.kind == DedupKind::kExact)
      HONE_TRY(write_sections(file, others_by_item(found, count())));
    else
      HONE_TRY(file_store().write(file, pairs_to_bytes(found)));
    return done();
  }

  StepResult clusters() const {
    std::vector<DuplicatePair> all;
    for (int64_t part = 0; part < count(); ++part)
      append_pairs(HONE_TRY(file_store().read(job_.step_file("pairs", part))), all);
    HONE_TRY(write_sections(job_.step_file("clusters", 0), join_pairs(all, count())));
    return done();
  }

  StepResult rows(int64_t number) const {
    return with_lines(number, [&](int64_t line) { return rows_from(number, line); });
  }

  StepResult shuffled(size_t part, int64_t number) const {
    const TextPart& of = job_.parts[part];
    const std::vector<int64_t> items = job_.items_of_part(part);
    SpilledTexts texts;
    for (const int64_t item : items)
      texts.add(HONE_TRY(read_section(job_.step_file("rows", item),
                                      static_cast<int64_t>(items.size()), number)),
                item);
    ShardSplit split = empty_split(of);
    TextBuilder builder(of.options);
    TokenRows rows;
    const auto write = [&]() -> Status {
      HONE_TRY(write_rows(of, number, rows, split));
      rows.clear();
      return Ok{};
    };
    for (const auto ids : texts.in_order()) {
      builder.add(ids, rows);
      if (rows.tokens() >= job_.options.max_shard_tokens) HONE_TRY(write());
      if (job_.work.stops()) return StepResult(std::nullopt);
    }
    builder.finish();
    HONE_TRY(write());
    split.counts = builder.state().counts;
    return result_of(split_to_json(split));
  }

 private:
  int64_t count() const { return static_cast<int64_t>(job_.items.size()); }
  static StepResult done() { return std::optional<std::string>("{}\n"); }
  static StepResult result_of(const OrderedJson& json) {
    return std::optional<std::string>(dump_json(json) + "\n");
  }

  // Lines before an item are counted only for the message of an error.
  template <class Work>
  StepResult with_lines(int64_t number, Work&& work) const {
    const WorkItem& item = job_.items[static_cast<size_t>(number)];
    StepResult made = work(1);
    if (made.ok() || item.begin == 0) return made;
    return work(HONE_TRY(first_line_of(job_.parts[item.part], item)));
  }

  Result<std::unique_ptr<RowReader>> open(const WorkItem& item, int64_t line) const {
    const TextPart& part = job_.parts[item.part];
    const std::vector<std::string> columns =
        HONE_TRY(open_rows({part.files[0]}, part.rows))->columns();
    auto rows = HONE_TRY(open_item(part, item, columns, line));
    rows->read_only({part.options.column});
    return rows;
  }

  StepResult keys_from(int64_t number, int64_t line) const {
    const WorkItem& item = job_.items[static_cast<size_t>(number)];
    const std::unique_ptr<RowReader> rows = HONE_TRY(open(item, line));
    const size_t column = job_.parts[item.part].options.column;
    Fingerprints prints(job_.work.dedup);
    KeyWriter out(count());
    std::vector<TextKey> keys;
    Row row;
    for (uint32_t at = 0; HONE_TRY(rows->next(row)); ++at) {
      if (job_.work.stops()) return StepResult(std::nullopt);
      prints.keys_of(HONE_TRY(text_of(row, column, rows->columns()[column])), keys);
      for (const TextKey& key : keys) out.add(key, static_cast<uint32_t>(item.part), at);
    }
    HONE_TRY(write_sections(job_.step_file("keys", number), out.sections()));
    return done();
  }

  // The texts of an item to leave out, in ascending order.
  Result<std::vector<uint32_t>> left_out(int64_t number) const {
    std::vector<uint32_t> rows;
    const DedupKind kind = job_.work.dedup.kind;
    const std::string step = kind == DedupKind::kExact ? "pairs" : "clusters";
    const int64_t files = kind == DedupKind::kNone ? 0 : kind == DedupKind::kExact ? count() : 1;
    for (int64_t file = 0; file < files; ++file)
      append_rows(HONE_TRY(read_section(job_.step_file(step, file), count(), number)), rows);
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  StepResult rows_from(int64_t number, int64_t line) const {
    const WorkItem& item = job_.items[static_cast<size_t>(number)];
    const std::vector<uint32_t> without = HONE_TRY(left_out(number));
    auto rows = std::make_unique<RowsLeft>(HONE_TRY(open(item, line)), without);
    OrderedJson result = OrderedJson::object();
    if (job_.is_shuffled(item.part)) {
      if (!HONE_TRY(spill(number, *rows))) return StepResult(std::nullopt);
    } else {
      const std::optional<ShardSplit> split = HONE_TRY(shards(number, std::move(rows)));
      if (!split) return StepResult(std::nullopt);
      result = split_to_json(*split);
    }
    result["left_out"] = without.size();
    return result_of(result);
  }

  Status write_rows(const TextPart& part, int64_t number, const TokenRows& rows,
                    ShardSplit& split) const {
    return write_shards(job_.options.folder + "/" + part.split, fmt::format("data-{:06}", number),
                        rows, {}, job_.options.max_shard_tokens, split);
  }

  Result<std::optional<ShardSplit>> shards(int64_t number, std::unique_ptr<RowReader> from) const {
    const TextPart& part = job_.parts[job_.items[static_cast<size_t>(number)].part];
    TextReader reader(std::move(from), part.options, tokenize_);
    ShardSplit split = empty_split(part);
    TokenRows rows;
    for (bool more = true; more;) {
      more = HONE_TRY(reader.read(rows));
      if (job_.work.stops()) return std::optional<ShardSplit>();
      if (more && rows.tokens() < job_.options.max_shard_tokens) continue;
      HONE_TRY(write_rows(part, number, rows, split));
      rows.clear();
    }
    split.counts = reader.counts();
    return std::optional(std::move(split));
  }

  // False if the work was stopped.
  Result<bool> spill(int64_t number, RowsLeft& rows) const {
    const WorkItem& item = job_.items[static_cast<size_t>(number)];
    const size_t column = job_.parts[item.part].options.column;
    const auto parts = static_cast<int64_t>(job_.items_of_part(item.part).size());
    TextSpill out(*job_.work.shuffle_seed, number, parts, tokenize_);
    Row row;
    while (HONE_TRY(rows.next(row))) {
      if (job_.work.stops()) return false;
      if (column < row.cells.size())
        if (const auto* ids = std::get_if<std::vector<int64_t>>(&row.cells[column])) {
          HONE_TRY(out.add_ids(rows.last_number(), *ids));
          continue;
        }
      HONE_TRY(
          out.add_text(rows.last_number(), HONE_TRY(text_of(row, column, rows.columns()[column]))));
    }
    HONE_TRY(write_sections(job_.step_file("rows", number), HONE_TRY(out.sections())));
    return true;
  }

  const SharedJob& job_;
  const Tokenize& tokenize_;
};

}  // namespace

std::string SharedJob::step_folder(const std::string& step) const {
  return fmt::format("{}/{}/{}", options.folder, kShardWork, step);
}

std::string SharedJob::step_file(const std::string& step, int64_t item) const {
  return fmt::format("{}/{:06}.data", step_folder(step), item);
}

bool SharedJob::is_shuffled(size_t part) const {
  return work.shuffle_seed && parts[part].split == kTrainSplit;
}

std::vector<int64_t> SharedJob::items_of_part(size_t part) const {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].part == part) numbers.push_back(static_cast<int64_t>(i));
  return numbers;
}

std::vector<SharedStep> shared_steps(const SharedJob& job, const Tokenize& tokenize) {
  const auto work = std::make_shared<SharedSteps>(job, tokenize);
  const auto count = static_cast<int64_t>(job.items.size());
  const DedupKind kind = job.work.dedup.kind;
  std::vector<SharedStep> steps;
  if (kind != DedupKind::kNone) {
    steps.push_back({"keys", count, [work](int64_t i) { return work->keys(i); }});
    steps.push_back({"pairs", count, [work](int64_t i) { return work->pairs(i); }});
  }
  if (kind == DedupKind::kMinHash)
    steps.push_back({"clusters", 1, [work](int64_t) { return work->clusters(); }});
  steps.push_back({"rows", count, [work](int64_t i) { return work->rows(i); }});
  for (size_t part = 0; part < job.parts.size(); ++part)
    if (job.is_shuffled(part))
      steps.push_back({"shuffled", static_cast<int64_t>(job.items_of_part(part).size()),
                       [work, part](int64_t i) { return work->shuffled(part, i); }});
  return steps;
}

Result<JoinedSplit> join_results(
    const SharedJob& job, size_t part,
    const std::function<Result<std::string>(const std::string& step, int64_t item)>& result) {
  JoinedSplit joined{empty_split(job.parts[part])};
  ShardSplit& split = joined.split;
  const auto read = [&](const std::string& step, int64_t item, std::string& name) {
    name = fmt::format("{} item {}", job.step_folder(step), item);
    return [&]() -> Result<OrderedJson> {
      return parse_ordered_json(HONE_TRY(result(step, item)), name);
    }();
  };
  const auto add = [&](const OrderedJson& json, const std::string& name) -> Status {
    ShardSplit more = HONE_TRY(split_from_json(json, name));
    split.min_id = std::min(split.min_id, more.min_id);
    split.max_id = std::max(split.max_id, more.max_id);
    split.hash = fnv1a(split.hash, more.hash);
    add_counts(more.counts, split.counts);
    for (ShardFile& shard : more.shards) split.shards.push_back(std::move(shard));
    return Ok{};
  };
  const bool shuffled = job.is_shuffled(part);
  const std::vector<int64_t> items = job.items_of_part(part);
  std::string name;
  for (const int64_t item : items) {
    const OrderedJson json = HONE_TRY(read("rows", item, name));
    joined.left_out += json.value("left_out", int64_t{0});
    if (!shuffled) HONE_TRY(add(json, name));
  }
  for (size_t i = 0; shuffled && i < items.size(); ++i) {
    const OrderedJson json = HONE_TRY(read("shuffled", static_cast<int64_t>(i), name));
    HONE_TRY(add(json, name));
  }
  return joined;
}

}  // namespace hone
