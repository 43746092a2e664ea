#include "learn/checkpoint/gguf/gguf_parts.h"

#include <algorithm>
#include <optional>
#include <set>

#include "learn/checkpoint/gguf/errors.h"

namespace hone {
namespace {

constexpr size_t kDigits = 5;
constexpr int64_t kMostParts = 99999;

// x-00002-of-00003.gguf
struct PartName {
  std::string stem;
  int64_t number, count;
  std::string of(int64_t other) const {
    return fmt::format("{}-{:05}-of-{:05}.gguf", stem, other, count);
  }
};

std::optional<PartName> part_name(const std::string& path) {
  constexpr std::string_view kOf = "-of-", kEnding = ".gguf";
  const size_t tail = 1 + kDigits + kOf.size() + kDigits + kEnding.size();
  if (path.size() <= tail || !path.ends_with(kEnding)) return {};
  const std::string_view rest = std::string_view(path).substr(path.size() - tail);
  const std::string_view number = rest.substr(1, kDigits),
                         count = rest.substr(1 + kDigits + kOf.size(), kDigits);
  const auto digits = [](std::string_view s) {
    return std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (rest[0] != '-' || rest.substr(1 + kDigits, kOf.size()) != kOf || !digits(number) ||
      !digits(count))
    return {};
  return PartName{path.substr(0, path.size() - tail), std::stoll(std::string(number)),
                  std::stoll(std::string(count))};
}

class JoinedFile final : public ByteFile {
 public:
  explicit JoinedFile(std::vector<std::unique_ptr<ByteFile>> parts) : parts_(std::move(parts)) {
    for (const auto& part : parts_) size_ += part->size();
  }
  int64_t size() const override { return size_; }
  const std::string& path() const override { return parts_.front()->path(); }
  Status read_at(int64_t offset, std::span<std::byte> out) const override {
    for (const auto& part : parts_) {
      const int64_t left = part->size() - offset;
      if (left > 0 && !out.empty()) {
        const size_t n = std::min(out.size(), static_cast<size_t>(left));
        HONE_TRY(part->read_at(offset, out.first(n)));
        out = out.subspan(n);
        offset += static_cast<int64_t>(n);
      }
      offset -= part->size();
    }
    return out.empty() ? Status(Ok{}) : parts_.back()->read_at(parts_.back()->size(), out);
  }

 private:
  std::vector<std::unique_ptr<ByteFile>> parts_;
  int64_t size_ = 0;
};

int64_t count_in(const GgufFile& gguf) {
  const int64_t* count = gguf.get<int64_t>("split.count");
  return count != nullptr ? *count : 1;
}

Error wrong(const std::string& path, std::string what) {
  return Error(err::kGgufDamaged, fmt::format("'{}': {}", path, std::move(what)))
      .todo("download all parts of the model into one folder, under the names that they have");
}

Result<OpenGguf> open_parts(const PartName& name) {
  OpenGguf all;
  std::vector<std::unique_ptr<ByteFile>> files;
  std::set<std::string> seen;
  int64_t base = 0;
  for (int64_t k = 1; k <= name.count; ++k) {
    const std::string path = name.of(k);
    if (!path_exists(path))
      return wrong(path, fmt::format("this part of {} does not exist", name.count));
    files.push_back(HONE_TRY(open_byte_file(path)));
    GgufFile part = HONE_TRY(read_gguf(*files.back()));
    const int64_t* number = part.get<int64_t>("split.no");
    if (number == nullptr || *number != k - 1 || count_in(part) != name.count)
      return wrong(path, fmt::format("it is not part {} of {}", k, name.count));
    for (GgufTensor& t : part.tensors) {
      if (!seen.insert(t.name).second)
        return wrong(path, fmt::format("tensor '{}' is in another part too", t.name));
      t.offset += base;
    }
    base += files.back()->size();
    if (k == 1) {
      all.content = std::move(part);
      continue;
    }
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(all.content.tensors));
  }
  const int64_t* tensors = all.content.get<int64_t>("split.tensors.count");
  if (tensors != nullptr && *tensors != std::ssize(all.content.tensors))
    return wrong(name.of(1), fmt::format("its parts have {} tensors, it names {}",
                                         all.content.tensors.size(), *tensors));
  all.file = std::make_unique<JoinedFile>(std::move(files));
  return all;
}

}  // namespace

Result<OpenGguf> open_gguf(const std::string& path) {
  OpenGguf one;
  one.file = HONE_TRY(open_byte_file(path));
  one.content = HONE_TRY(read_gguf(*one.file));
  const int64_t count = count_in(one.content);
  if (count == 1) return one;
  const auto name = part_name(path);
  if (!name || name->count != count || count < 1 || count > kMostParts)
    return wrong(path, fmt::format("it is one of {} parts, which its name does not say", count));
  return open_parts(*name);
}

std::vector<std::string> first_gguf_parts(const std::vector<std::string>& names) {
  std::vector<std::string> first;
  for (const std::string& name : names) {
    if (!name.ends_with(".gguf")) continue;
    const auto part = part_name(name);
    if (!part || part->number == 1) first.push_back(name);
  }
  return first;
}

}  // namespace hone
