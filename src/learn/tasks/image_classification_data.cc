#include "learn/tasks/image_classification_data.h"

#include <algorithm>
#include <numeric>

#include "base/store/store.h"
#include "learn/data/formats/errors.h"
#include "learn/data/images/image_folder.h"
#include "learn/data/images/image_table.h"
#include "learn/data/images/web_dataset.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/label_map.h"
#include "learn/data/rows/order.h"
#include "learn/data/rows/selection.h"
#include "learn/harness/prepared_source.h"
#include "learn/models/image_model.h"
#include "learn/train/run_ranks.h"

namespace hone {
namespace {

// The source of each split.
struct ImageSources {
  std::string train_dir, validation_dir, test_dir;
  std::vector<std::string> train_file, validation_file, test_file;

  bool has_validation() const { return !validation_dir.empty() || !validation_file.empty(); }
};

// A data set that is a folder of splits of images.
Result<bool> take_folder_of_splits(const std::string& name, ImageSources& to) {
  if (name.empty() || !path_exists(name)) return false;
  const std::string train = HONE_TRY(split_folder(name, "train")),
                    validation = HONE_TRY(split_folder(name, "validation"));
  if (train.empty() && validation.empty()) return false;
  for (const std::string& folder : {train, validation}) {
    if (folder.empty()) continue;
    // Folders of data files are a data set of another kind.
    bool classes = false;
    for (const Store::Entry& e : HONE_TRY(file_store().list(folder))) classes = classes || e.folder;
    if (!classes) return false;
  }
  if (to.train_dir.empty()) to.train_dir = train;
  if (to.validation_dir.empty()) to.validation_dir = validation;
  if (to.test_dir.empty()) to.test_dir = HONE_TRY(split_folder(name, "test"));
  return true;
}

Result<ImageSources> find_image_sources(const ImageClassificationSettings& s) {
  ImageSources out{s.train_dir, s.validation_dir, s.test_dir, {}, {}, {}};
  if (HONE_TRY(take_folder_of_splits(s.dataset_name, out))) return out;
  LabelSourceRequest request = named_sources(s, s.test_file);
  request.glue = false;
  request.dataset.archives = true;
  request.want_train = s.do_train && out.train_dir.empty();
  request.want_validation = s.do_eval && out.validation_dir.empty();
  request.want_test = s.do_predict && out.test_dir.empty();
  const bool named = !s.dataset_name.empty() || !s.train_file.empty() ||
                     !s.validation_file.empty() || !s.test_file.empty();
  // The reader of a split names missing files.
  if (!named || !(request.want_train || request.want_validation || request.want_test)) return out;
  request.want_test = request.want_test && (!s.dataset_name.empty() || !s.test_file.empty());
  LabelSources found = HONE_TRY(find_label_sources(request));
  out.train_file = std::move(found.train);
  out.validation_file = std::move(found.validation);
  out.test_file = std::move(found.test);
  return out;
}

// Rows order[begin, end), in their own order.
ImageRows rows_at(const ImageRows& rows, const RowOrder& order, int64_t begin, int64_t end) {
  std::vector<int64_t> chosen;
  for (int64_t i = begin; i < end; ++i) chosen.push_back(order.index(0, i));
  std::sort(chosen.begin(), chosen.end());
  return rows.picked(chosen);
}

Error no_images(const std::string& purpose, const std::string& split) {
  return Error(err::kDataMissing, fmt::format("there are no images to {}", purpose))
      .todo(fmt::format("give --{}_dir, --{}_file or --dataset_name", split, split));
}

class SplitReader {
 public:
  SplitReader(const ImageClassificationSettings& s, const Pretrained& model,
              const ImageSources& sources, ImageListing& listing)
      : s_(s), model_(model), sources_(sources), listing_(listing) {}

  Result<ImageSplits> read() {
    own_ = HONE_TRY(label_names_of_config(model_.config.config, model_.name));
    if (!s_.do_train && !own_.empty()) out_.names = own_;
    const bool splits = s_.do_eval && !sources_.has_validation();
    if (s_.do_train || splits) out_.train = HONE_TRY(read_split("train"));
    if (s_.do_train && !s_.ignore_mismatched_sizes) HONE_TRY(take_names_of_checkpoint());
    if (out_.train) out_.train_rows_read = out_.train->size();
    if (s_.do_eval && !splits) out_.eval = HONE_TRY(read_split("validation"));
    if (splits) HONE_TRY(split_train());
    HONE_TRY(limit_rows());
    if (out_.names.empty())
      out_.names = label_names(model_.config);  // nothing but predicted images
    if (s_.do_predict) HONE_TRY(add_predicted());
    for (const auto& [name, rows] : {std::pair("train", &out_.train), {"validation", &out_.eval}})
      if (*rows && (*rows)->size() > 0)
        out_.notes.push_back(fmt::format("{}: {} of {} classes", name,
                                         count_of((*rows)->size(), "image"),
                                         std::ssize(out_.names)));
    return std::move(out_);
  }

 private:
  RowOrder order_of(int64_t rows) const {
    return RowOrder::shuffled(rows, static_cast<uint64_t>(s_.seed));
  }

  Result<ImageRows> read_split(const std::string& split) {
    const bool train = split == "train";
    const std::string& folder = train ? sources_.train_dir : sources_.validation_dir;
    const auto& files = train ? sources_.train_file : sources_.validation_file;
    LabelledImages read;
    if (!folder.empty())
      read = HONE_TRY(list_classes(folder, out_.names, &listing_));
    else if (!files.empty())
      read = HONE_TRY(read_files(files, split));
    else
      return no_images(train ? "train on" : "evaluate", split);
    if (out_.names.empty()) out_.names = read.names;
    return std::move(read.rows);
  }

  // Data files, or archives of WebDataset.
  Result<LabelledImages> read_files(const std::vector<std::string>& patterns,
                                    const std::string& split) const {
    const bool labelled = split != "test";
    const std::vector<std::string> files = HONE_TRY(expand_files(patterns, split));
    if (is_web_dataset(files[0])) return read_web_dataset(files, labelled, out_.names);
    return read_image_table(files, {s_.image_column_name, s_.label_column_name, labelled},
                            out_.names);
  }

  // Gives labels the numbers of a checkpoint that has the same names.
  Status take_names_of_checkpoint() {
    const LabelMap map = HONE_TRY(remap_labels(named_labels(out_.names), own_, model_.name));
    if (map.names == out_.names) return Ok{};
    const std::vector<std::string> before = std::exchange(out_.names, map.names);
    const ImageRows& rows = *out_.train;
    std::vector<int32_t> labels;
    for (int64_t i = 0; i < rows.size(); ++i)
      labels.push_back(map.ids.at(before[static_cast<size_t>(rows.label(i))]));
    out_.train->set_labels([&](int64_t i) { return labels[static_cast<size_t>(i)]; });
    return Ok{};
  }

  Status split_train() {
    const ImageRows all = std::move(*out_.train);
    std::vector<std::string> ignored;
    const int64_t rows = all.size(),
                  kept = HONE_TRY(keep_for_validation(rows, s_.validation_split_percentage,
                                                      s_.do_train, ignored));
    const RowOrder order = order_of(rows);
    out_.eval = rows_at(all, order, 0, kept);
    out_.train = rows_at(all, order, kept, rows);
    out_.notes.push_back(
        fmt::format("there is no validation set: {} of {} are kept for validation, at random",
                    grouped(kept), count_of(rows, "image")));
    return Ok{};
  }

  Status limit_rows() {
    const auto limit = [&](std::optional<ImageRows>& rows, int64_t most, double share) -> Status {
      if (!rows) return Ok{};
      const int64_t kept = HONE_TRY(selected_rows(rows->size(), most, share));
      if (kept < rows->size()) rows = rows_at(*rows, order_of(rows->size()), 0, kept);
      return Ok{};
    };
    HONE_TRY(limit(out_.train, s_.max_train_samples, s_.fraction_of_train_data));
    if (!s_.do_train) out_.train.reset();
    HONE_TRY(limit(out_.eval, s_.max_eval_samples, 1));
    out_.evaluated = out_.eval ? out_.eval->size() : 0;
    return Ok{};
  }

  Status add_predicted() {
    ImageRows rows;
    if (!sources_.test_dir.empty())
      rows = HONE_TRY(list_images(sources_.test_dir));
    else if (sources_.test_file.empty())
      return no_images("predict", "test");
    else
      rows = HONE_TRY(read_files(sources_.test_file, "test")).rows;
    const int64_t kept = HONE_TRY(selected_rows(rows.size(), s_.max_predict_samples, 1));
    if (!out_.eval) out_.eval.emplace();
    out_.eval->append(rows, kept);
    out_.predicted = kept;
    return Ok{};
  }

  const ImageClassificationSettings& s_;
  const Pretrained& model_;
  const ImageSources& sources_;
  ImageListing& listing_;
  std::vector<std::string> own_;
  ImageSplits out_;
};

}  // namespace

Result<ImageSplits> read_image_splits(const ImageClassificationSettings& s,
                                      const Pretrained& model) {
  const ImageSources sources = HONE_TRY(find_image_sources(s));
  ImageListing listing = HONE_TRY(ImageListing::open(s.listing_file));
  ImageSplits splits = HONE_TRY(SplitReader(s, model, sources, listing).read());
  if (listing.kept() > 0)
    splits.notes.push_back(fmt::format("{} are listed in {}: images that came later are not seen",
                                       count_of(listing.kept(), "folder"), s.listing_file));
  if (s.ranks->leads()) HONE_TRY(listing.save());
  return splits;
}

}  // namespace hone
