// The file that `gyre tune` writes.
#pragma once

#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "plan/tuning_table.hpp"

namespace gyre::tools {

// Opened before anything is measured, so that what would be wrong with it is known then. The file
// itself changes in one step, when all of it is written: whatever happens, it is the old one or the
// new one.
class TableFile {
 public:
  // Error: no table, no regular file, or no file can be made beside it.
  static Result<TableFile> open(const std::string& path);
  TableFile(TableFile&&) noexcept = default;
  TableFile& operator=(TableFile&&) = delete;
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;

  // The rows, and those of other collectives and places that the file held. Once.
  Result<void> write(const std::vector<TuningRow>& rows);

 private:
  TableFile() = default;

  std::string path_;
  TuningTable old_;
};

}  // namespace gyre::tools
