#include "learn/data/imagenet/validation_classes.h"

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>

#include "base/core/text.h"
#include "base/store/memory_reader.h"
#include "base/store/unpack.h"
#include "learn/data/imagenet/errors.h"
#include "learn/data/images/tar_index.h"

namespace hone {
namespace {

constexpr int64_t kMostBytes = int64_t{1}
                               << 30;  // of the unpacked archive; that of ILSVRC2012 has 100 MB

Error bad_classes(const std::string& where, const std::string& why) {
  return Error(err::kValidationClasses, why)
      .at(where)
      .todo("give the archive ILSVRC2012_bbox_val_v3.tgz, or a list with a class a line");
}

Result<std::string> read_unpacked(const std::string& path) {
  const std::string packed = HONE_TRY(file_store().read(path));
  const Packing packing = packing_of_bytes(packed);
  if (packing == Packing::kNone) return packed;
  size_t taken = 0;
  Unpacker unpacker(packing, path, [&](char* to, int64_t size) -> Result<int64_t> {
    const size_t n = packed.copy(to, static_cast<size_t>(size), taken);
    taken += n;
    return static_cast<int64_t>(n);
  });
  std::string out;
  std::vector<char> part(size_t{1} << 20);
  while (const int64_t n = HONE_TRY(unpacker.read(part.data(), std::ssize(part)))) {
    out.append(part.data(), static_cast<size_t>(n));
    if (std::ssize(out) > kMostBytes) return bad_classes(path, "it unpacks to more than 1 GiB");
  }
  return out;
}

// The class of the objects of an annotation; "": it names none, or several.
std::string class_of_objects(std::string_view xml) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size())) return "";
  std::string found;
  for (const pugi::xml_node object : document.child("annotation").children("object")) {
    const std::string name = object.child_value("name");
    if (!is_wordnet_id(name) || (!found.empty() && found != name)) return "";
    found = name;
  }
  return found;
}

}  // namespace

Result<ValidationClasses> classes_of_boxes(const std::string& path) {
  const std::string archive = HONE_TRY(read_unpacked(path));
  MemoryReader file(archive);
  TarWalk walk(file, path);
  ValidationClasses out;
  constexpr std::string_view kEnding = ".xml";
  while (const std::optional<TarEntry> e = HONE_TRY(walk.next())) {
    const std::string name = last_part(e->name);
    if (!name.ends_with(kEnding) || name.starts_with('.')) continue;
    const std::string found = class_of_objects(std::string_view(archive).substr(
        static_cast<size_t>(e->offset), static_cast<size_t>(e->bytes)));
    if (found.empty())
      return bad_classes(path + "/" + e->name,
                         "it is not an annotation whose objects have one class");
    out[name.substr(0, name.size() - kEnding.size())] = found;
  }
  if (out.empty()) return bad_classes(path, "the archive holds no .xml file");
  return out;
}

namespace {

bool is_tar(std::string_view bytes) {
  constexpr size_t kMagic = 257;
  return bytes.size() > kMagic + 5 && bytes.substr(kMagic, 5) == "ustar";
}

// By the devkit's ILSVRC2012_validation_ground_truth.txt, a line with the number of a class for each image.
Result<ValidationClasses> classes_of_devkit(const std::string& path, const std::string& archive) {
  MemoryReader file(archive);
  TarWalk walk(file, path);
  std::string_view meta, truth;
  while (const std::optional<TarEntry> e = HONE_TRY(walk.next())) {
    const std::string name = last_part(e->name);
    const auto bytes = std::string_view(archive).substr(static_cast<size_t>(e->offset),
                                                        static_cast<size_t>(e->bytes));
    if (name == "meta.mat") meta = bytes;
    if (name == "ILSVRC2012_validation_ground_truth.txt") truth = bytes;
  }
  if (meta.empty() || truth.empty())
    return bad_classes(path,
                       "the archive has no meta.mat or no ILSVRC2012_validation_ground_truth.txt");
  const auto classes = HONE_TRY(classes_of_meta(meta, path + "/meta.mat"));
  ValidationClasses out;
  for (const std::string& raw : split(std::string(truth), '\n')) {
    const std::string line(trim(raw));
    if (line.empty()) continue;
    int64_t number = 0;
    const auto end = std::from_chars(line.data(), line.data() + line.size(), number).ptr;
    const auto found = classes.find(number);
    if (end != line.data() + line.size() || found == classes.end())
      return bad_classes(fmt::format("{}:{}", path, out.size() + 1),
                         fmt::format("'{}' is not the number of a class", utf8_prefix(line, 60)));
    out[fmt::format("ILSVRC2012_val_{:08}", out.size() + 1)] = found->second;
  }
  return out;
}

}  // namespace

Result<ValidationClasses> classes_of_list(const std::string& path) {
  const std::string text = HONE_TRY(read_unpacked(path));
  if (is_tar(text)) return classes_of_devkit(path, text);
  ValidationClasses out;
  bool kaggle = false;
  int64_t line_number = 0;
  for (const std::string& raw : split(text, '\n')) {
    const std::string_view line = trim(raw);
    ++line_number;
    if (line_number == 1 && line.starts_with("ImageId,")) kaggle = true;
    if (line.empty() || (kaggle && line_number == 1)) continue;
    const size_t comma = kaggle ? line.find(',') : std::string_view::npos;
    const std::string_view id =
        comma == line.npos ? line : line.substr(comma + 1, line.find(' ', comma) - comma - 1);
    if (!is_wordnet_id(id) || (kaggle && comma == line.npos))
      return bad_classes(fmt::format("{}:{}", path, line_number),
                         fmt::format("'{}' is not the WordNet id of a class, such as n01440764",
                                     utf8_prefix(line, 60)));
    const std::string name = kaggle ? std::string(line.substr(0, comma))
                                    : fmt::format("ILSVRC2012_val_{:08}", out.size() + 1);
    out[name] = std::string(id);
  }
  if (out.empty()) return bad_classes(path, "the list is empty");
  return out;
}

}  // namespace hone
