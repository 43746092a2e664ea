#include "operate/web/image_folders.h"

#include <filesystem>

#include "base/store/store.h"
#include "learn/data/images/image_folder.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLooked = 20;

// True if one of the first names of the folder is an image.
bool holds_images(const fs::path& folder) {
  std::error_code failed;
  int looked = 0;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end && looked < kMostLooked;
       it.increment(failed), ++looked)
    if (is_image_name(it->path().filename().string()) && it->is_regular_file(failed)) return true;
  return false;
}

}  // namespace

bool holds_classes(const std::string& folder) {
  std::error_code failed;
  int looked = 0;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end && looked < kMostLooked;
       it.increment(failed), ++looked)
    if (it->is_directory(failed) && holds_images(it->path())) return true;
  return false;
}

std::vector<std::string> image_folders_in(const std::string& folder) {
  if (holds_classes(folder) || holds_images(folder)) return {folder};
  std::vector<std::string> found;
  for (const std::string& name : names_in(folder))
    if (const std::string path = folder + "/" + name; is_folder(path) && holds_classes(path))
      found.push_back(path);
  return found;
}

}  // namespace hone
