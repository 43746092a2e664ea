#include "learn/tasks/image_media.h"

#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "learn/images/encode.h"

namespace hone {
namespace {

constexpr const char *kTrainImages = "train_images", *kWrong = "wrong_predictions";
constexpr float kLeastShare = 0.005F;  // of a class that is named

// The image whose normalised pixels these are.
Image image_of_pixels(std::span<const float> pixels, int64_t width, int64_t height,
                      const ImageProcessor& p) {
  Image image;
  image.resize(width, height);
  for (size_t i = 0; i < pixels.size(); ++i) {
    const size_t channel = i % 3;
    const double value = (pixels[i] * p.std[channel] + p.mean[channel]) / p.rescale;
    image.pixels[i / 3 * 4 + channel] =
        static_cast<uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
  }
  return image;
}

// A cell of a table in Markdown.
std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : text)
    cell += c == '\n' || c == '\r' ? std::string(" ")
            : c == '|'             ? std::string("\\|")
                                   : std::string(1, c);
  return cell;
}

std::string table_of(const std::string& head, const std::vector<std::string>& lines) {
  std::string rule;
  for (const char c : head) rule += c == '|' ? "|" : "-";
  return head + "\n" + rule + "\n" + join(lines, "\n");
}

}  // namespace

ImageMedia::ImageMedia(const ImageClassificationSettings& s, ImageProcessor processor,
                       std::vector<std::string> names, int64_t evaluated)
    : s_(s), processor_(std::move(processor)), names_(std::move(names)) {
  // Rows come in the order of classes, so these are spread over all.
  const int64_t count = std::min(s.log_embeddings, evaluated);
  for (int64_t i = 0; i < count; ++i) sampled_.push_back(i * evaluated / count);
}

bool ImageMedia::wants_batch(int64_t step) {
  if (first_step_ < 0) first_step_ = step;
  return step == first_step_ && batch_count_ < s_.log_images;
}

std::string ImageMedia::labels_of(const MediaBatch& batch, size_t image) const {
  if (batch.shares.empty()) {
    const int64_t id = batch.ids[image];
    return id < 0 ? "unreadable" : class_name(id);
  }
  const size_t classes = names_.size();
  const auto shares = batch.shares.subspan(image * classes, classes);
  std::vector<size_t> order;
  for (size_t c = 0; c < classes; ++c)
    if (shares[c] >= kLeastShare) order.push_back(c);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return shares[a] > shares[b]; });
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(kMostNamed, order.size()); ++i)
    parts.push_back(fmt::format("{} {:.2f}", names_[order[i]], shares[order[i]]));
  return parts.empty() ? "unreadable" : join(parts, ", ");
}

void ImageMedia::add_batch(const MediaBatch& batch) {
  const auto values = static_cast<size_t>(batch.width * batch.height * 3);
  for (size_t i = 0; i < batch.files.size() && batch_count_ < s_.log_images; ++i) {
    const Image image = image_of_pixels(batch.pixels.subspan(i * values, values), batch.width,
                                        batch.height, processor_);
    const int64_t number = ++batch_count_;
    batch_lines_.push_back(fmt::format("| {} | {} | {} |", number, markdown_cell(batch.files[i]),
                                       markdown_cell(labels_of(batch, i))));
    batch_images_.push_back(
        {fmt::format("{}/{}", kTrainImages, number), encode_png(image), image.width, image.height});
  }
}

void ImageMedia::begin_evaluation() {
  wrong_.clear();
  points_.clear();
  features_.clear();
}

void ImageMedia::add_evaluated(const MediaPrediction& p) {
  const Kept kept{p.row, p.label, p.prediction, p.probability};
  if (!p.features.empty() && std::binary_search(sampled_.begin(), sampled_.end(), p.row)) {
    points_.push_back(kept);
    features_.insert(features_.end(), p.features.begin(), p.features.end());
  }
  if (p.label == p.prediction) return;
  const auto before = [](const Kept& a, const Kept& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.row < b.row;
  };
  wrong_.insert(std::upper_bound(wrong_.begin(), wrong_.end(), kept, before), kept);
  if (std::ssize(wrong_) > s_.log_images) wrong_.pop_back();
}

void ImageMedia::end_evaluation(const PixelsOf& pixels_of,
                                const std::function<std::string(int64_t)>& name_of) {
  add_wrong(pixels_of, name_of);
  add_embeddings(pixels_of, name_of);
}

void ImageMedia::add_wrong(const PixelsOf& pixels_of,
                           const std::function<std::string(int64_t)>& name_of) {
  std::vector<std::string> lines;
  Image image;
  for (const Kept& k : wrong_) {
    if (!pixels_of(k.row, image).ok()) continue;
    const size_t number = lines.size() + 1;
    lines.push_back(fmt::format("| {} | {} | {} | {} | {:.4f} |", number,
                                markdown_cell(name_of(k.row)), markdown_cell(class_name(k.label)),
                                markdown_cell(class_name(k.prediction)), k.probability));
    pending_.images.push_back(
        {fmt::format("{}/{}", kWrong, number), encode_png(image), image.width, image.height});
  }
  if (!lines.empty())
    pending_.texts.push_back(
        {kWrong, table_of("| number | image | label | prediction | probability |", lines)});
}

std::string ImageMedia::sprite_of(const std::vector<int64_t>& rows,
                                  const PixelsOf& pixels_of) const {
  const auto side = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(rows.size()))));
  Image all, image, small;
  all.resize(side * kThumbnail, side * kThumbnail);
  std::fill(all.pixels.begin(), all.pixels.end(), uint8_t{0});
  ResampleMemory memory;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!pixels_of(rows[i], image).ok()) continue;
    resample(image, image.box(),
             {image.width,
              image.height,
              kThumbnail,
              kThumbnail,
              {0, 0, kThumbnail, kThumbnail},
              Filter::bilinear},
             small, memory);
    const auto at = static_cast<int64_t>(i);
    for (int64_t y = 0; y < kThumbnail; ++y)
      std::copy_n(small.row(y), kThumbnail * 4,
                  all.row(at / side * kThumbnail + y) + at % side * kThumbnail * 4);
  }
  return encode_png(all);
}

void ImageMedia::add_embeddings(const PixelsOf& pixels_of,
                                const std::function<std::string(int64_t)>& name_of) {
  if (points_.empty()) return;
  LoggedEmbeddings e;
  e.width = std::ssize(features_) / std::ssize(points_);
  e.values = features_;
  e.columns = {"label", "prediction", "probability", "image"};
  std::vector<int64_t> rows;
  for (const Kept& k : points_) {
    rows.push_back(k.row);
    e.labels.push_back({class_name(k.label), class_name(k.prediction),
                        fmt::format("{:.4f}", k.probability), name_of(k.row)});
  }
  // The images of an evaluation are those of the one before.
  if (rows != sprite_rows_) {
    sprite_ = sprite_of(rows, pixels_of);
    sprite_rows_ = std::move(rows);
  }
  e.sprite = sprite_;
  e.image_side = kThumbnail;
  pending_.embeddings = std::move(e);
}

LogMedia ImageMedia::take() {
  LogMedia media = std::move(pending_);
  pending_ = {};
  if (!batch_images_.empty()) {
    media.texts.push_back({kTrainImages, table_of("| number | image | label |", batch_lines_)});
    for (LoggedImage& image : batch_images_) media.images.push_back(std::move(image));
    batch_images_.clear();
    batch_lines_.clear();
  }
  return media;
}

int64_t ImageMedia::memory_bytes() const {
  constexpr int64_t kUsualWidth = 2048;  // of features, which are held twice and written as text
  const int64_t point = kThumbnail * kThumbnail * 4 + kUsualWidth * (2 * 4 + 12),
                image = processor_.width * processor_.height * 4;
  return std::ssize(sampled_) * point + 2 * s_.log_images * image;
}

}  // namespace hone
