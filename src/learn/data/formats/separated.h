// csv and tsv: records of separated fields (RFC 4180 as pandas reads it).
//
// - A quoted field may hold separators and line breaks and be as large as the file; a doubled
//   quote is one quote. Bytes inside a field are given unchanged. A quote inside an unquoted
//   field is an ordinary byte; what follows a closing quote is appended.
// - A record ends at LF, CR LF or CR, so CR CR LF ends one and adds a blank line; blank lines
//   (spaces and tabs only) are skipped. A byte order mark before the header is skipped.
// - The first record is the header, unless RowOptions::column_names stands for it. A record with
//   fewer fields is filled with nulls; one with more is an error.
// - tsv: most such files are written without quoting. A field that begins with a quote counts
//   as quoted only if its closing quote comes before a tab, a line end or the end of the file
//   and no single quote is inside it; else the quote is an ordinary byte.
#pragma once

#include "learn/data/formats/rows.h"

namespace hone {

enum class Quoting { kRfc4180, kWhenBalanced, kNone };

// Reads the header. With options.quoted = false every quote is an ordinary byte.
// Errors: H2105 when no row follows it, H2106, H2108.
Result<std::unique_ptr<RowReader>> open_separated(std::unique_ptr<Source> source, char separator,
                                                  Quoting quoting, const RowOptions& options);

}  // namespace hone
