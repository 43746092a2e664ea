#include "learn/data/rows/pair_rows.h"

#include <algorithm>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/unpack.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/batch.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"

namespace hone {
namespace {

using Names = std::vector<std::string>;
constexpr const char* kTranslation = "translation";

std::string place_in(const Row& row, const std::string& column) {
  return fmt::format("{}, column '{}'", row.where(), column);
}

// The text of a language in a cell of column `translation`; empty where it `may_lack`.
Result<std::string> text_of_language(const Row& row, size_t column, const std::string& lang,
                                     const std::string& name, bool may_lack) {
  const Cell& cell = row.cells[column];
  if (std::holds_alternative<std::monostate>(cell)) return std::string();
  std::string text;
  if (const auto* raw = std::get_if<RawJson>(&cell)) text = raw->text;
  if (const auto* written = std::get_if<std::string>(&cell)) text = *written;
  const Result<Json> object = parse_json(text, row.where());
  if (!object.ok() || !object->is_object())
    return Error(err::kCellType, fmt::format("column '{}' holds {}, not an object of texts", name,
                                             cell_type_name(cell)))
        .at(place_in(row, name))
        .todo(R"(write {"translation": {"en": "...", "de": "..."}})");
  const std::string key = language_key(lang);
  for (const std::string& k : {key, lang}) {
    const auto at = object->find(k);
    if (at == object->end()) continue;
    if (at->is_null()) return std::string();
    if (at->is_string()) return at->get<std::string>();
    return Error(err::kCellType, fmt::format("'{}' is {}, not a text", k, at->type_name()))
        .at(place_in(row, name))
        .todo("write a text");
  }
  if (may_lack) return std::string();
  Names keys;
  for (const auto& [k, value] : object->items()) keys.push_back(k);
  return Error(err::kTranslation, fmt::format("the translation has no '{}'", key))
      .at(place_in(row, name))
      .todo(fmt::format("its languages are {}; name two of them by `source_lang` and `target_lang`",
                        join(keys, ", ")));
}

// IWSLT's train.tags.en-ro.en says of each talk what it is, in lines of markup that are not pairs.
bool is_markup(std::string_view file, std::string_view line) {
  file.remove_prefix(file.find_last_of('/') + 1);  // 0 without a slash
  return file.starts_with("train.tags.") && trim(line).starts_with('<');
}

// The columns of the training where the file has them.
PairColumnOptions as_trained(PairColumnOptions wanted, const Names& columns) {
  if (!wanted.source_column.empty() || !wanted.target_column.empty()) return wanted;
  if (wanted.trained_columns.size() != 2 || !place_of(columns, wanted.trained_columns[0]))
    return wanted;
  const bool has_target = place_of(columns, wanted.trained_columns[1]).has_value();
  if (!has_target && wanted.target) return wanted;
  wanted.source_column = wanted.trained_columns[0];
  wanted.target_column = wanted.trained_columns[1];
  return wanted;
}

}  // namespace

std::string language_key(const std::string& lang) { return lang.substr(0, lang.find('_')); }

Result<PairReader> PairReader::open(const Names& files, const RowOptions& options,
                                    const PairColumnOptions& given) {
  PairReader out;
  out.rows_ = HONE_TRY(open_rows(files, options));
  const PairColumnOptions wanted = as_trained(given, out.rows_->columns());
  out.columns_wanted_ = wanted;
  const RowPosition start = out.rows_->position();
  if (!HONE_TRY(out.rows_->next(out.row_)))
    return Error(err::kNoRows, "the data has no rows").at(files[0]).todo("give more data");
  const Names& columns = out.rows_->columns();
  const std::string file = files[0];
  if (!wanted.source_lang.empty()) {
    if (const auto at = place_of(columns, kTranslation)) {
      out.objects_ = true;
      out.source_ = *at;
      out.target_ = at;
      out.note_ = fmt::format("{} and {} from {}", language_key(wanted.source_lang),
                              language_key(wanted.target_lang), kTranslation);
    } else {
      for (const bool target : {false, true}) {
        const std::string& lang = target ? wanted.target_lang : wanted.source_lang;
        const std::string key = language_key(lang);
        auto found = place_of(columns, key);
        if (!found) found = place_of(columns, lang);
        if (!found && (!target || wanted.target))
          return Error(err::kNoColumn,
                       fmt::format("the data has neither a column '{}' nor a column '{}'",
                                   kTranslation, key))
              .at(fmt::format("{} (`{}_lang` {})", file, target ? "target" : "source", lang))
              .todo(fmt::format("its columns are {}", join(columns, ", ")));
        if (target)
          out.target_ = found;
        else
          out.source_ = *found;
      }
      out.note_ = out.target_ ? fmt::format("{} to {}, each from its column", columns[out.source_],
                                            columns[*out.target_])
                              : fmt::format("{} from its column", columns[out.source_]);
    }
    out.rows_->read_only({out.source_, out.target_.value_or(out.source_)});
    HONE_TRY(out.rows_->seek(start));
    return out;
  }
  if (columns.size() < 2 && wanted.target)
    return Error(err::kNoColumn,
                 fmt::format("the data has one column, '{}'; a source and its target need two",
                             join(columns, ", ")))
        .at(file)
        .todo("give csv, json, jsonl or parquet with two columns of text");
  const auto named = [&](const std::string& name, const std::string& setting,
                         size_t otherwise) -> Result<size_t> {
    if (name.empty()) return otherwise;
    const auto at = place_of(columns, name);
    if (!at)
      return no_column(columns, name, "",
                       setting.empty() ? file : fmt::format("{} (`{}`)", file, setting));
    return *at;
  };
  out.source_ = HONE_TRY(named(wanted.source_column, wanted.source_name, 0));
  if (wanted.target) {
    out.target_ = HONE_TRY(named(wanted.target_column, wanted.target_name, 1));
  } else {
    out.target_ = wanted.target_column.empty() ? std::min<size_t>(1, columns.size() - 1)
                                               : place_of(columns, wanted.target_column);
    if (wanted.target_column.empty() && out.target_ == out.source_) out.target_.reset();
  }
  if (out.target_ == out.source_)
    return Error(err::kNoColumn,
                 fmt::format("both texts would come from column '{}'", columns[out.source_]))
        .at(file)
        .todo(fmt::format("name both columns by `{}` and `{}`; they are {}", wanted.source_name,
                          wanted.target_name, join(columns, ", ")));
  out.note_ = fmt::format("text from {}", columns[out.source_]);
  if (out.target_)
    out.note_ += fmt::format(", target from {}", columns[*out.target_]);
  else if (!wanted.target_column.empty())
    out.note_ += fmt::format("; there is no column '{}'", wanted.target_column);
  out.rows_->read_only({out.source_, out.target_.value_or(out.source_)});
  HONE_TRY(out.rows_->seek(start));
  return out;
}

Result<PairReader> PairReader::open_parallel(const Names& sources, const Names& targets,
                                             const RowOptions& given) {
  RowOptions options = given;
  options.format = "text";
  options.keep_linebreaks = false;
  PairReader out;
  out.parallel_ = true;
  out.rows_ = HONE_TRY(open_rows(sources, options));
  out.note_ = fmt::format("line by line from {}", join(sources, ", "));
  if (targets.empty()) return out;
  out.target_rows_ = HONE_TRY(open_rows(targets, options));
  out.note_ += fmt::format(" to {}", join(targets, ", "));
  return out;
}

std::vector<std::string> PairReader::columns() const {
  if (objects_ || parallel_) return {};
  Names chosen{rows_->columns()[source_]};
  if (target_) chosen.push_back(rows_->columns()[*target_]);
  return chosen;
}

Result<bool> PairReader::next_line(RowReader& rows, std::string& text, std::string& place,
                                   std::string_view& file, int64_t& line) {
  do {
    if (!HONE_TRY(rows.next(row_))) return false;
    text = HONE_TRY(cell_text(row_, 0, rows.columns()[0]));
  } while (is_markup(row_.file, text));
  place = row_.where();
  file = row_.file;
  line = row_.line;
  return true;
}

Result<bool> PairReader::next(TextPair& pair) {
  pair.target.clear();
  if (parallel_) {
    const bool source = HONE_TRY(
        next_line(*rows_, pair.source, pair.source_place, pair.source_file, pair.source_line));
    if (!target_rows_) return source;
    const bool target = HONE_TRY(next_line(*target_rows_, pair.target, pair.target_place,
                                           pair.target_file, pair.target_line));
    if (source == target) return source;
    return Error(err::kTranslation, "one of the parallel files has more lines than the other")
        .at(source ? pair.source_place : pair.target_place)
        .todo("line i of one must be the translation of line i of the other");
  }
  if (!HONE_TRY(rows_->next(row_))) return false;
  const Names& names = rows_->columns();
  pair.source_file = pair.target_file = row_.file;
  pair.source_line = pair.target_line = row_.line;
  pair.line_is_row = row_.line_is_row;
  pair.source_place = place_in(row_, names[source_]);
  pair.target_place = place_in(row_, names[target_.value_or(source_)]);
  if (objects_) {
    pair.source = HONE_TRY(
        text_of_language(row_, source_, columns_wanted_.source_lang, names[source_], false));
    pair.target = HONE_TRY(text_of_language(row_, *target_, columns_wanted_.target_lang,
                                            names[*target_], !columns_wanted_.target));
    pair.source_place += fmt::format(", language {}", language_key(columns_wanted_.source_lang));
    pair.target_place += fmt::format(", language {}", language_key(columns_wanted_.target_lang));
    return true;
  }
  pair.source = HONE_TRY(cell_text(row_, source_, names[source_]));
  if (target_) pair.target = HONE_TRY(cell_text(row_, *target_, names[*target_]));
  return true;
}

std::optional<ParallelFiles> parallel_files(const Names& files, const std::string& source_lang,
                                            const std::string& target_lang, bool need_targets) {
  ParallelFiles out;
  const auto is_of = [](const std::string& end, const std::string& lang) {
    return end == lang || end == language_key(lang);
  };
  for (const std::string& file : files) {
    const std::string_view bare = without_packing(file);
    const std::string end(bare.substr(bare.find_last_of("./") + 1));
    if (is_of(end, source_lang))
      out.sources.push_back(file);
    else if (is_of(end, target_lang))
      out.targets.push_back(file);
    else
      return {};
  }
  const bool no_targets = !need_targets && out.targets.empty();
  if (out.sources.empty() || (out.sources.size() != out.targets.size() && !no_targets)) return {};
  return out;
}

void PairRows::append(const PairRows& from, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    sources.add_from(from.sources, i);
    targets.add_from(from.targets, i);
  }
}

namespace {

// Rows to be predicted, of which those of `lacking` have no target: either all of them, or the data
// are not what they seem.
Status settle_targets(const std::vector<int64_t>& lacking, const std::string& first_place,
                      bool skip_empty, PairRows& rows) {
  if (lacking.empty()) return Ok{};
  PairRows out;
  out.counts = rows.counts;
  out.first_source = std::move(rows.first_source);
  out.has_targets = static_cast<int64_t>(lacking.size()) < rows.size();
  if (!out.has_targets) {
    out.sources = std::move(rows.sources);
    for (int64_t i = 0; i < out.size(); ++i) out.targets.add(std::span<const int32_t>());
    out.counts.targets_cut = 0;
  } else if (!skip_empty) {
    return Error(err::kEmptyField, "the text is empty, and those of other rows are not")
        .at(first_place)
        .todo("give it a text; or leave all of them out, to predict without metrics");
  } else {
    int64_t from = 0;
    for (const int64_t i : lacking) {
      out.append(rows, from, i);
      from = i + 1;
    }
    out.append(rows, from, rows.size());
    out.counts.rows_empty += static_cast<int64_t>(lacking.size());
  }
  rows = std::move(out);
  return Ok{};
}

}  // namespace

Result<PairRows> read_pairs(PairReader& reader, const PairOptions& options, int64_t limit) {
  PairRows out;
  std::vector<int64_t> lacking;  // rows to predict without a target
  std::string first_lacking;
  Names sources, targets;
  std::vector<RowOrigin> places;
  size_t bytes = 0;
  const auto flush = [&]() -> Status {
    EncodedSide source, target;
    HONE_TRY(options.source(std::vector<std::string_view>(sources.begin(), sources.end()), source));
    HONE_TRY(options.target(std::vector<std::string_view>(targets.begin(), targets.end()), target));
    HONE_BUG_IF(source.ids.size() != sources.size() || target.ids.size() != targets.size(),
                "{} sources and {} targets of {}", source.ids.size(), target.ids.size(),
                sources.size());
    for (size_t i = 0; i < sources.size(); ++i) {
      out.sources.add(source.ids[i], places[i]);
      out.targets.add(target.ids[i]);
    }
    out.counts.sources_cut += std::count(source.cut.begin(), source.cut.end(), true);
    out.counts.targets_cut += std::count(target.cut.begin(), target.cut.end(), true);
    sources.clear();
    targets.clear();
    places.clear();
    bytes = 0;
    return Ok{};
  };
  TextPair pair;
  while (out.counts.rows_read < limit && HONE_TRY(reader.next(pair))) {
    ++out.counts.rows_read;
    const bool lacks = options.predict && pair.target.empty();
    if (pair.source.empty() || (pair.target.empty() && !lacks)) {
      if (!options.skip_empty)
        return Error(err::kEmptyField, "the text is empty")
            .at(pair.source.empty() ? pair.source_place : pair.target_place)
            .todo("give it a text, or take the row out");
      ++out.counts.rows_empty;
      continue;
    }
    if (out.first_source.empty()) out.first_source = pair.source;
    if (lacks) {
      if (lacking.empty()) first_lacking = pair.target_place;
      lacking.push_back(out.size() + static_cast<int64_t>(sources.size()));
    }
    bytes += pair.source.size() + pair.target.size();
    places.push_back(out.sources.place_in(pair.source_file, pair.source_line, pair.line_is_row));
    sources.push_back(options.prefix + pair.source);
    targets.push_back(std::move(pair.target));
    if (sources.size() >= kBatchRows || bytes >= kBatchBytes) HONE_TRY(flush());
  }
  HONE_TRY(flush());
  HONE_TRY(settle_targets(lacking, first_lacking, options.skip_empty, out));
  out.sources.shrink();
  out.targets.shrink();
  return out;
}

std::string describe(const PairRows& rows, int64_t max_source, int64_t max_target) {
  const PairCounts& c = rows.counts;
  std::string text = fmt::format("{} -> {} of sources, {} of targets", count_of(rows.size(), "row"),
                                 count_of(rows.sources.tokens(), "token"),
                                 rows.has_targets ? grouped(rows.targets.tokens()) : "none");
  const auto cut = [&](int64_t n, const char* side, int64_t at) {
    if (n > 0)
      text += fmt::format(
          "; {} ({:.1f} %) cut at {}", count_of(n, side),
          100.0 * static_cast<double>(n) / static_cast<double>(std::max<int64_t>(c.rows_read, 1)),
          grouped(at));
  };
  cut(c.sources_cut, "source", max_source);
  cut(c.targets_cut, "target", max_target);
  if (c.rows_empty > 0)
    text += fmt::format("; {} with an empty text left out", count_of(c.rows_empty, "row"));
  return text;
}

}  // namespace hone
