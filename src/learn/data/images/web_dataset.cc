#include "learn/data/images/web_dataset.h"

#include <algorithm>
#include <optional>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/places/in_parallel.h"
#include "base/store/store.h"
#include "learn/data/images/errors.h"
#include "learn/data/images/tar_index.h"
#include "learn/data/rows/label_map.h"

namespace hone {
namespace {

constexpr int64_t kMostLabelBytes = 1 << 20;
constexpr int64_t kArchivesAtATime = 64;

// The stem ends at the first dot of the last part of the name.
size_t end_of_stem(const std::string& name) {
  const size_t slash = name.find_last_of('/');
  return std::min(name.find('.', slash == std::string::npos ? 0 : slash + 1), name.size());
}

struct WebRow {
  std::string name;
  TarEntry image;
  std::optional<Cell> label;
};

class WebReader {
 public:
  explicit WebReader(bool labelled) : labelled_(labelled) {}

  // The rows of an archive. Several threads may call it.
  Result<std::vector<WebRow>> rows_of(const std::string& path) const {
    const std::unique_ptr<Reader> file = HONE_TRY(file_store().open(path));
    const std::vector<TarEntry> entries = HONE_TRY(list_tar(*file, path));
    std::vector<WebRow> rows;
    for (size_t begin = 0; begin < entries.size();) {
      const std::string stem = entries[begin].name.substr(0, end_of_stem(entries[begin].name));
      size_t end = begin + 1;
      while (end < entries.size() &&
             entries[end].name.substr(0, end_of_stem(entries[end].name)) == stem)
        ++end;
      rows.push_back(
          HONE_TRY(row_of(*file, path + "/" + stem, {entries.data() + begin, end - begin})));
      begin = end;
    }
    return rows;
  }

  Status add(const std::string& path, std::span<const WebRow> rows) {
    const int32_t folder = rows_.add_folder(path);
    for (const WebRow& x : rows) {
      if (labelled_) {
        Row row;
        row.file = x.name;
        numbers_.push_back(HONE_TRY(seen_.add(*x.label, row, "cls")));
      }
      rows_.add_range(folder, x.image.name, x.image.offset, x.image.bytes, 0);
    }
    return Ok{};
  }

  Result<LabelledImages> finish(const std::vector<std::string>& names) {
    LabelledImages out;
    if (labelled_) {
      const LabelMap map = names.empty() ? HONE_TRY(sorted_labels(seen_)) : named_labels(names);
      const std::vector<int32_t> ids = HONE_TRY(class_ids(seen_, map));
      rows_.set_labels(
          [&](int64_t i) { return ids[static_cast<size_t>(numbers_[static_cast<size_t>(i)])]; });
      out.names = map.names;
    }
    out.rows = std::move(rows_);
    return out;
  }

 private:
  static Error bad(const std::string& row, const std::string& why) {
    return Error(err::kImageColumn, why)
        .at(row)
        .todo("each row is an image (.jpg, .jpeg, .png or .webp) and its label (.cls or .json)");
  }

  Result<WebRow> row_of(Reader& file, const std::string& name,
                        std::span<const TarEntry> entries) const {
    const TarEntry* image = nullptr;
    std::optional<Cell> label;
    for (const TarEntry& e : entries) {
      const std::string ending = to_lower(e.name.substr(end_of_stem(e.name)));
      if (is_image_name(e.name))
        image = &e;
      else if (labelled_ && (ending == ".cls" || ending == ".json"))
        label = HONE_TRY(read_label(file, e, name, ending == ".json"));
    }
    if (!image) return bad(name, "a row has no image");
    if (labelled_ && !label) return bad(name, "a row has no label");
    return WebRow{name, *image, std::move(label)};
  }

  static Result<Cell> read_label(Reader& file, const TarEntry& e, const std::string& row,
                                 bool is_json) {
    if (e.bytes > kMostLabelBytes) return bad(row, "a label has more than 1 MiB");
    std::string text(static_cast<size_t>(e.bytes), '\0');
    HONE_TRY(file.read(e.offset, std::as_writable_bytes(std::span(text))));
    if (!is_json) {
      const std::string_view trimmed = trim(text);
      return Cell(std::string(trimmed));
    }
    const Json json = HONE_TRY(parse_json(text, row + ".json"));
    for (const char* key : {"label", "cls"}) {
      if (!json.is_object() || !json.contains(key)) continue;
      const Json& value = json[key];
      if (value.is_string()) return Cell(value.get<std::string>());
      if (value.is_number_integer()) return Cell(value.get<int64_t>());
    }
    return bad(row, "the .json has no member 'label' that is a text or a whole number");
  }

  bool labelled_;
  ImageRows rows_;
  SeenLabels seen_;
  std::vector<int32_t> numbers_;
};

}  // namespace

bool is_web_dataset(std::string_view file) { return file.ends_with(".tar"); }

Result<LabelledImages> read_web_dataset(const std::vector<std::string>& files, bool labelled,
                                        const std::vector<std::string>& names) {
  WebReader reader(labelled);
  // A part of the archives at a time, so that their names do not fill the memory twice.
  const auto count = std::ssize(files);
  for (int64_t first = 0; first < count; first += kArchivesAtATime) {
    const int64_t part = std::min(kArchivesAtATime, count - first);
    std::vector<std::vector<WebRow>> rows(static_cast<size_t>(part));
    HONE_TRY(in_parallel(part, threads_to_list(files[0]), [&](int64_t i) -> Status {
      rows[static_cast<size_t>(i)] =
          HONE_TRY(reader.rows_of(files[static_cast<size_t>(first + i)]));
      return Ok{};
    }));
    for (int64_t i = 0; i < part; ++i)
      HONE_TRY(reader.add(files[static_cast<size_t>(first + i)], rows[static_cast<size_t>(i)]));
  }
  return reader.finish(names);
}

}  // namespace hone
