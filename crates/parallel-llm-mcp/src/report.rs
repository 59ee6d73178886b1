//! The report of a run: the same object that the program prints as JSON, with every part typed.

pub use parallel_llm_service::report::{
    AgreementReport, AnalysisReport, CallReport, ChangeReport, CheckReport, ClaimReport, ClusterReport,
    ConfidenceReport, EarlierReport, EffectiveVotes, ErrorReport, FilesReport, FilesState, JudgingReport,
    NovelReport, ProgramReport, Report, RoundReport, SeatReport, ShortenedReport, SkippedReport,
    SuspicionReport, Synthesis, UsageReport, VerdictReport, WorthReport,
};
