// File names to splits, by the rules of Hugging Face datasets 5.2 (data_files.py, load.py). Paths
// are relative to the data set's folder, with '/', sorted.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Name of a split and the globs of its files, in the order in which the splits are listed.
using SplitPatterns = std::vector<std::pair<std::string, std::vector<std::string>>>;
using SplitFiles = SplitPatterns;

// The files that match a glob: '*', '?', [sets] within a folder, '**' as a whole part for any
// folders. Hidden files and __folders__ match only if the glob names them, and so do README.md,
// config.json and similar files; with `data_only` files without the extension of a data format are
// left out. A text without any of these signs is the name of one file. Errors: H2806 for '**'
// beside other signs.
Result<std::vector<std::string>> matching_files(const std::string& glob,
                                                std::span<const std::string> files,
                                                bool data_only = true);

// The globs that apply by default: data/{split}-00000-of-00001.*, folders named after splits, files
// named after splits (train, valid, dev, test ... as words), else all in `train`. Empty if there is
// no file at all. Errors: H2805 for a split of an impossible name.
Result<SplitPatterns> default_patterns(std::span<const std::string> files);

// The format of most files as `datasets` names it ("csv", "json", "parquet", "text", "arrow",
// "imagefolder", ...); parquet wins a draw. "" when no extension is known.
std::string common_format(std::span<const std::string> files);
bool is_of_format(const std::string& file, const std::string& format);
bool hone_reads(const std::string& format);

}  // namespace hone
