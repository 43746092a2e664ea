#include "learn/tasks/seq2seq_check.h"

#include <algorithm>
#include <unordered_map>

#include "base/core/text.h"
#include "learn/check/row_faults.h"
#include "learn/data/rows/batch.h"
#include "learn/tasks/seq2seq_data.h"
#include "learn/tasks/seq2seq_texts.h"

namespace hone {
namespace {

constexpr size_t kMostSources = 1 << 20;

// One side of the rows of a split.
struct Side {
  RowFaults faults;
  std::vector<std::string> texts;  // waiting for the tokenizer
  std::vector<RowPlace> places;
  EncodedSide encoded;
  const Tokenizer* tokenizer = nullptr;
  int64_t vocab = 0, limit = 0;
};

class PairScan {
 public:
  PairScan(const Seq2Seq& q, const ModelConfig& config, const PairTokenizers& tokenizers,
           ThreadPool& pool, Findings& findings)
      : q_(q),
        s_(*q.settings),
        config_(config),
        tokenizers_(tokenizers),
        pool_(pool),
        findings_(findings),
        words_(trim(q.settings->source_prefix)),
        known_(task_prefix(q, config)),
        columns_wanted_(q.wanted()),
        end_(tokenizers.targets.eos_id()) {
    const auto id = config.config.find("eos_token_id");
    if (!end_ && id != config.config.end() && id->is_number_integer()) end_ = id->get<int32_t>();
  }

  Status split(const std::string& name, const LabelSources& sources, SplitReport& report) {
    validation_ = name != "train";
    const std::vector<std::string>& files = validation_ ? sources.validation : sources.train;
    if (files.empty() || is_shard_folder(files[0])) return Ok{};  // shards hold no texts
    sources_ = {}, targets_ = {}, both_ = {};
    sources_.tokenizer = &tokenizers_.sources, targets_.tokenizer = &tokenizers_.targets;
    sources_.vocab = config_.source_vocab, targets_.vocab = config_.vocab;
    sources_.limit = s_.source_tokens(config_), targets_.limit = target_limit(q_, config_, name);
    report.pairs.emplace();
    told_ = untold_ = full_ = 0;
    PairReader reader = HONE_TRY(open_pairs(q_, sources, name, columns_wanted_));
    if (const auto columns = reader.columns();
        columns.size() == 2 && columns_wanted_.source_lang.empty())
      columns_wanted_.source_column = columns[0], columns_wanted_.target_column = columns[1];
    TextPair pair;
    while (HONE_TRY(reader.next(pair))) {
      ++report.rows;
      look_at(pair);
      if (sources_.texts.size() == kBatchRows) HONE_TRY(flush(report));
    }
    HONE_TRY(flush(report));
    tell(name, report);
    return Ok{};
  }

  void tell_copies(const RowsReport& report) const {
    const auto place = [&](RowPlace p) { return where(p); };
    tell_repeated(pairs_, report.train.rows, report.eval.rows, place, "metrics", findings_);
    if (other_targets_ > 0)
      findings_.add(
          FindingLevel::kWarning, "leaked_sources",
          fmt::format("validation: {} of {} rows ({:.1f} %) have the source of a training row and "
                      "another target",
                      other_targets_, report.eval.rows,
                      percent_of(other_targets_, report.eval.rows)),
          fmt::format("first {}, as {}", where(validated_), where(trained_)),
          "take them out of one of the two, unless a source is to have several targets");
  }

 private:
  std::string where(RowPlace place) const { return files_read_.text(place); }

  void look_at(const TextPair& pair) {
    const RowPlace at = files_read_.place(pair.source_file, pair.source_line),
                   target_at = files_read_.place(pair.target_file, pair.target_line);
    const std::string_view source = trim(pair.source), target = trim(pair.target);
    for (const auto& [side, text, place] :
         {std::tuple{&sources_, source, at}, {&targets_, target, target_at}}) {
      if (text.empty())
        side->faults.note(RowFault::kEmpty, place);
      else
        side->faults.look_at_text(text, place);
    }
    if (source.empty() || target.empty()) return;
    ++full_;
    if (source == target) both_.note(RowFault::kSame, at);
    if (!words_.empty() && source.starts_with(words_))
      sources_.faults.note(RowFault::kPrefixTwice, at);
    if (known_ && source.starts_with(trim(known_->text)))
      ++told_;
    else if (untold_++ == 0)
      first_untold_ = at;
    look_at_source(source, target, at);
    pairs_.add(fmt::format("{}\x1f{}", source, target), validation_, at);
    sources_.texts.push_back(s_.source_prefix + pair.source);
    targets_.texts.push_back(pair.target);
    sources_.places.push_back(at);
    targets_.places.push_back(target_at);
  }

  void look_at_source(std::string_view source, std::string_view target, RowPlace at) {
    const std::hash<std::string_view> hash;
    if (!validation_) {
      if (trained_sources_.size() < kMostSources)
        trained_sources_.try_emplace(hash(source), hash(target), at);
      return;
    }
    const auto known = trained_sources_.find(hash(source));
    if (known == trained_sources_.end() || known->second.first == hash(target)) return;
    if (other_targets_++ == 0) validated_ = at, trained_ = known->second.second;
  }

  Status flush(SplitReport& report) {
    for (Side* side : {&sources_, &targets_}) {
      side->encoded = {};
      const EncodeSide encode = encode_side_with(*side->tokenizer, pool_, side->limit);
      HONE_TRY(encode(std::vector<std::string_view>(side->texts.begin(), side->texts.end()),
                      side->encoded));
    }
    PairSplit& counts = *report.pairs;
    for (size_t i = 0; i < sources_.texts.size(); ++i) {
      const bool source_cut = sources_.encoded.cut[i], target_cut = targets_.encoded.cut[i];
      counts.sources_cut += source_cut;
      counts.targets_cut += target_cut;
      report.counts.rows_cut += source_cut || target_cut;
      for (Side* side : {&sources_, &targets_}) {
        const std::vector<int32_t>& ids = side->encoded.ids[i];
        report.bytes += static_cast<int64_t>(side->texts[i].size());
        (side == &sources_ ? report.counts.tokens_read : counts.target_tokens) +=
            static_cast<int64_t>(ids.size());
        if (side->encoded.cut[i]) side->faults.note(RowFault::kLong, side->places[i]);
        side->faults.look_at_ids(ids, side->tokenizer, side->vocab, false, side->places[i]);
        if (end_ && side == &targets_)
          side->faults.look_at_end(ids, *side->tokenizer, *end_, side->places[i]);
      }
    }
    for (Side* side : {&sources_, &targets_}) side->texts.clear(), side->places.clear();
    return Ok{};
  }

  // Findings of the split that was read.
  void tell(const std::string& name, SplitReport& report) {
    PairSplit& counts = *report.pairs;
    counts.empty_sources = sources_.faults.rows(RowFault::kEmpty);
    counts.empty_targets = targets_.faults.rows(RowFault::kEmpty);
    report.empty = report.rows - full_;
    const auto place = [&](RowPlace p) { return where(p); };
    for (Side* side : {&sources_, &targets_}) {
      const bool target = side == &targets_;
      const std::string flag = !target ? "max_source_length"
                               : validation_ && s_.val_max_target_length > 0
                                   ? "val_max_target_length"
                                   : "max_target_length";
      side->faults.tell({name, report.rows, fmt::format("the {} that are kept", side->limit),
                         fmt::format("the rest is cut off: raise --{}", flag), place,
                         s_.dataset_name.empty() ? "take them out: a run ends at an empty text"
                                                 : "rows with an empty text are left out",
                         target ? "targets" : "sources"},
                        findings_);
    }
    both_.tell({name, report.rows, "", "", place}, findings_);
    tell_prefix(name);
  }

  // The words that tell the model its task: missing, others, twice.
  void tell_prefix(const std::string& name) {
    if (!known_) return;
    const std::string in_config =
        fmt::format("task_specific_params.{} in config.json", q_.task_key());
    const std::string remedy = fmt::format("--source_prefix '{}'", known_->text);
    if (words_.empty()) {
      if (untold_ == 0 || (told_ > 0 && !known_->of_checkpoint)) return;
      if (!known_->of_checkpoint) {
        findings_.add(
            FindingLevel::kNote, "no_source_prefix",
            fmt::format("{}: T5 knows a task by words before the text, and there are none", name),
            "", "a checkpoint that was trained on this task needs " + remedy);
        return;
      }
      findings_.add(
          FindingLevel::kWarning, "no_source_prefix",
          fmt::format(
              "{}: {} of {} rows ({:.1f} %) do not begin with '{}', by which the checkpoint "
              "knows this task, and there is no --source_prefix",
              name, untold_, full_, percent_of(untold_, full_), known_->text),
          fmt::format("first {}; {}", where(first_untold_), in_config),
          told_ == 0 ? remedy
                     : "take the words out of the rows that have them, and give " + remedy);
      return;
    }
    if (!known_->of_checkpoint || s_.source_prefix == known_->text || validation_) return;
    findings_.add(FindingLevel::kWarning, "other_source_prefix",
                  fmt::format("the checkpoint knows this task by '{}', --source_prefix is '{}'",
                              known_->text, s_.source_prefix),
                  in_config,
                  told_ == 0
                      ? remedy
                      : fmt::format("leave --source_prefix out: {} of {} rows have these words",
                                    told_, full_));
  }

  const Seq2Seq& q_;
  const Seq2SeqSettings& s_;
  const ModelConfig& config_;
  const PairTokenizers& tokenizers_;
  ThreadPool& pool_;
  Findings& findings_;
  const std::string_view words_;  // of --source_prefix
  const std::optional<TaskPrefix> known_;
  PairColumnOptions columns_wanted_;
  std::optional<int32_t> end_;
  RowFiles files_read_;
  RowTable pairs_;
  std::unordered_map<size_t, std::pair<size_t, RowPlace>> trained_sources_;  // and their targets
  int64_t other_targets_ = 0;  // rows of validation with such a source and another target
  RowPlace validated_, trained_;
  // The split that is read:
  bool validation_ = false;
  Side sources_, targets_;
  RowFaults both_;
  int64_t full_ = 0;  // rows with both texts; with the words that the checkpoint knows, without
  int64_t told_ = 0, untold_ = 0;
  RowPlace first_untold_;
};

SampleRow sample(const PairRows& rows, int64_t i, int64_t decoder_start) {
  const auto source = rows.sources.row(i), target = rows.targets.row(i);
  SampleRow out;
  out.source.assign(source.begin(), source.end());
  out.labels.assign(target.begin(), target.end());
  // The decoder's inputs (decoder_inputs of learn/data/batches/batch.h).
  out.ids = out.labels;
  std::rotate(out.ids.rbegin(), out.ids.rbegin() + 1, out.ids.rend());
  if (decoder_start >= 0 && !out.ids.empty()) out.ids[0] = static_cast<int32_t>(decoder_start);
  return out;
}

}  // namespace

RowsReport check_pairs(const Seq2Seq& q, const CheckRequest& request, Findings& findings) {
  const Pretrained& model = request.model;
  RowsReport report;
  const auto sources = seq2seq_sources(q);
  const auto tokenizers = open_pair_tokenizers(q, model);
  if (!sources.ok()) findings.add(sources.error());
  if (!tokenizers.ok()) findings.add(tokenizers.error());
  if (!sources.ok() || !tokenizers.ok()) return report;
  report.targets = tokenizers->targets;
  PairScan scan(q, model.config, *tokenizers, request.pool, findings);
  const bool read = findings.passed(scan.split("train", *sources, report.train)) &&
                    findings.passed(scan.split("validation", *sources, report.eval));
  if (read) scan.tell_copies(report);
  const Result<Seq2SeqData> data = read_seq2seq(q, model, *tokenizers, request.pool);
  if (!data.ok()) {
    // The first reading reported it already.
    if (read) findings.add(data.error());
    return report;
  }
  request.notes = data->notes;
  report.eval.sequences = data->eval_rows;
  report.eval.rows =
      std::max(report.eval.rows, data->eval_rows);  // may be among those of the training
  if (!data->train) return report;
  report.train.sequences = data->train->size();
  for (int64_t i = 0; i < std::min(request.samples, data->train->size()); ++i)
    report.samples.push_back(sample(*data->train, i, model.config.decoder_start));
  return report;
}

void check_pair_settings(const Seq2Seq& q, const Pretrained& model, Findings& findings) {
  const Seq2SeqSettings& s = *q.settings;
  if (s.max_target_length > model.config.max_positions)
    findings.add(FindingLevel::kWarning, "target_longer_than_model",
                 fmt::format("--max_target_length {} is more than the model's {} positions, which "
                             "are used",
                             s.max_target_length, model.config.max_positions),
                 "--max_target_length");
  if (s.predict_with_generate && !s.do_eval && !s.do_predict)
    findings.add(FindingLevel::kNote, "texts_not_asked_for",
                 "--predict_with_generate writes no text without --do_eval or --do_predict",
                 "--predict_with_generate");
  if (!s.predict_with_generate) return;
  const Result<GenerationConfig> texts = evaluated_generation(q, model);
  findings.passed(texts.ok() ? check_generation(*texts, model.config.vocab)
                             : Status(texts.error()));
}

}  // namespace hone
