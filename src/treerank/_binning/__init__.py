"""Binning: encodes values as small integer codes, and stores thresholds and levels."""
